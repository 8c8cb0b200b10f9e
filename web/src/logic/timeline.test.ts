import { describe, expect, it } from 'vitest'
import type { Schemas } from '../api/client'
import { byDay, type Entry, fromAudit, fromEvent, fromOperation, isOf, merge } from './timeline'

const entry = (key: string, at: string): Entry => ({
  key,
  kind: 'event',
  at,
  look: 'normal',
  title: key,
  object: 'Cluster demo',
  text: '',
})

describe('entries', () => {
  it('of an event', () => {
    const e = {
      lastSeenAt: '2026-11-25T15:00:00Z',
      firstSeenAt: '2026-11-25T14:00:00Z',
      type: 'Warning',
      reason: 'Degraded',
      message: 'no answer',
      count: 1200,
      object: { kind: 'Cluster', name: 'demo' },
    } as Schemas['ObjectEvent']
    expect(fromEvent(e)).toMatchObject({
      at: '2026-11-25T15:00:00Z',
      look: 'warning',
      title: 'Degraded',
      object: 'Cluster demo',
      text: 'no answer (1,200 times)',
    })
  })
  it.each([
    ['Running', 'working'],
    ['Retrying', 'warning'],
    ['Stalled', 'danger'],
  ])('of an operation that is %s', (state, look) => {
    const o = {
      object: { kind: 'NodePool', name: 'gpu' },
      action: 'scale',
      state,
      reason: 'R',
      message: 'm',
      progress: { done: 1, total: 3 },
    }
    expect(fromOperation(o as Schemas['Operation'], new Date('2026-11-25T15:00:00Z'))).toMatchObject({
      at: '2026-11-25T15:00:00.000Z',
      look,
      title: `scale ${state.toLowerCase()}`,
      text: '1 of 3: m',
    })
  })
  it.each([
    ['succeeded', 201, 'normal', 'Succeeded; access: edit'],
    ['denied', 403, 'warning', 'Ended as denied (403); access: edit'],
    ['failed', 409, 'danger', 'Ended as failed (409); access: edit'],
  ])('of a record that %s', (outcome, status, look, text) => {
    const r = {
      sequence: 7,
      time: '2026-11-25T15:00:00Z',
      actor: { kind: 'user', name: 'alice' },
      action: 'update',
      object: { kind: 'Cluster', name: 'demo' },
      outcome,
      status,
      detail: { dryRun: 'true', access: 'edit' },
    } as unknown as Schemas['AuditRecord']
    expect(fromAudit(r)).toMatchObject({ look, text, title: 'update (dry run)', actor: 'alice' })
  })
})

describe('merge', () => {
  const a = entry('a', '2026-11-25T15:00:00Z')
  const b = entry('b', '2026-11-25T14:00:00Z')
  const c = entry('c', '2026-11-25T13:00:00Z')
  it.each([
    [
      'sorts',
      [
        { entries: [b, c], more: false },
        { entries: [a], more: false },
      ],
      ['a', 'b', 'c'],
      false,
    ],
    [
      'keeps one of two',
      [
        { entries: [a], more: false },
        { entries: [a], more: false },
      ],
      ['a'],
      false,
    ],
    [
      'stops where a list goes on',
      [
        { entries: [a, b], more: true },
        { entries: [c], more: false },
      ],
      ['a', 'b'],
      true,
    ],
    [
      'stops where a list was read to',
      [
        { entries: [a], more: true, until: c.at },
        { entries: [c], more: false },
      ],
      ['a', 'c'],
      true,
    ],
    ['has nothing', [], [], false],
  ])('%s', (_, sources, want, more) => {
    const found = merge(sources)
    expect(found.entries.map((e) => e.key)).toEqual(want)
    expect(found.more).toBe(more)
  })
})

describe('byDay', () => {
  it('names days by the clock of the user', () => {
    const now = new Date(2026, 10, 25, 12)
    const at = (day: number) => new Date(2026, 10, day, 9).toISOString()
    const days = byDay([entry('a', at(25)), entry('b', at(25)), entry('c', at(24)), entry('d', at(2))], now)
    expect(days.map((d) => [d.name, d.entries.length])).toEqual([
      ['Today', 2],
      ['Yesterday', 1],
      [expect.stringMatching(/^Monday.* 2 November 2026$/), 1],
    ])
  })
})

describe('isOf', () => {
  it.each([
    ['Cluster', 'demo', true],
    ['Cluster', 'demo2', false],
    ['ControlPlane', 'demo', true],
    ['NodePool', 'gpu', true],
    ['NodePool', 'other', false],
    ['Machine', 'gpu-x7k2f', true],
    ['Machine', 'other-x7k2f', false],
    ['Provisioner', 'demo', false],
  ])('%s %s', (kind, name, want) => {
    expect(isOf({ kind, name }, 'demo', ['demo', 'gpu'])).toBe(want)
  })
})
