import { describe, expect, test } from 'vitest'
import {
  asOne,
  daysBack,
  fromLocalInput,
  lastDay,
  localInput,
  type Moment,
  momentFlags,
  momentOf,
  movedTo,
  presets,
  stamp,
  timesOf,
  wrongWith,
} from './timeslider'

const now = new Date('2026-11-25T15:04:05Z') // a Wednesday
const at = (text: string): Moment => ({ kind: 'at', at: new Date(text) })
const between = (from: string, to?: string): Moment => ({
  kind: 'between',
  from: new Date(from),
  to: to ? new Date(to) : undefined,
})

test.each([
  [{}, 'now', {}],
  [{ at: '2026-03-01T09:00:00Z' }, 'at', { at: '2026-03-01T09:00:00Z' }],
  [{ at: 'soon' }, 'now', {}],
  [{ to: '2026-03-01T09:00:00Z' }, 'now', {}],
  [{ from: '2026-03-01T09:00:00Z', at: '2026-03-02T09:00:00Z' }, 'between', { from: '2026-03-01T09:00:00Z' }],
] as const)('momentOf %o is %s', (times, kind, back) => {
  const moment = momentOf(times)
  expect(moment.kind).toBe(kind)
  expect(timesOf(moment)).toEqual(kind === 'between' ? { ...back, to: undefined } : back)
})

describe('lastDay', () => {
  test.each([
    [2, '2026-11-24T00:00:00Z'],
    [3, '2026-11-18T00:00:00Z'], // today is none
    [4, '2026-11-19T00:00:00Z'],
    [0, '2026-11-22T00:00:00Z'],
  ])('%d', (weekday, want) => {
    expect(stamp(lastDay(weekday, now))).toBe(want)
  })
})

test('presets are as on the command line', () => {
  expect(presets(now).map((p) => [p.name, stamp(p.at)])).toEqual([
    ['1 hour ago', '2026-11-25T14:04:05Z'],
    ['Yesterday', '2026-11-24T00:00:00Z'],
    ['Last Tuesday', '2026-11-24T00:00:00Z'],
    ['30 days ago', '2026-10-26T15:04:05Z'],
  ])
})

test.each([
  [{ kind: 'now' } as Moment, 0],
  [at('2026-11-20T15:00:00Z'), 5],
  [at('2020-01-01T00:00:00Z'), 90],
  [at('2027-01-01T00:00:00Z'), 0],
  [between('2026-11-18T15:00:00Z'), 7],
])('daysBack of %o', (moment, want) => {
  expect(daysBack(moment, now)).toBe(want)
})

test.each([
  [0, { kind: 'now' } as Moment, {}],
  [2, { kind: 'now' } as Moment, { at: '2026-11-23T15:04:05Z' }],
  [0, at('2026-11-20T15:00:00Z'), {}],
  [0, between('2026-11-18T15:00:00Z'), { from: '2026-11-25T14:04:05Z' }],
  [
    1,
    between('2026-11-18T15:00:00Z', '2026-11-25T00:00:00Z'),
    { from: '2026-11-24T15:04:05Z', to: '2026-11-25T00:00:00Z' },
  ],
])('movedTo %d', (days, moment, want) => {
  expect(JSON.parse(JSON.stringify(timesOf(movedTo(days, moment, now))))).toEqual(want)
})

test.each([
  [{ kind: 'now' } as Moment, undefined],
  [at('2026-11-25T15:04:30Z'), undefined],
  [at('2026-11-26T00:00:00Z'), /not come/],
  [between('2026-11-24T00:00:00Z'), undefined],
  [between('2026-11-24T00:00:00Z', '2026-12-24T00:00:00Z'), /not come/],
  [between('2026-11-24T00:00:00Z', '2026-11-23T00:00:00Z'), /before the second/],
])('wrongWith %o', (moment, want) => {
  const got = wrongWith(moment, now)
  if (want) expect(got).toMatch(want)
  else expect(got).toBeUndefined()
})

test('local inputs', () => {
  const noon = new Date(2026, 2, 1, 9, 5)
  expect(localInput(noon)).toBe('2026-03-01T09:05')
  expect(fromLocalInput('2026-03-01T09:05')).toEqual(noon)
  expect(fromLocalInput('2026-03-')).toBeUndefined()
  expect(fromLocalInput('')).toBeUndefined()
})

test('asOne and momentFlags', () => {
  expect(asOne(between('2026-11-24T00:00:00Z'))).toEqual({ kind: 'now' })
  expect(timesOf(asOne(between('2026-11-24T00:00:00Z', '2026-11-25T00:00:00Z')))).toEqual({
    at: '2026-11-25T00:00:00Z',
  })
  expect(momentFlags({ kind: 'now' })).toBe('')
  expect(momentFlags(at('2026-11-24T00:00:00Z'))).toBe(' --at 2026-11-24T00:00:00Z')
  expect(momentFlags(between('2026-11-24T00:00:00Z', '2026-11-25T00:00:00Z'))).toBe(
    ' --from 2026-11-24T00:00:00Z --to 2026-11-25T00:00:00Z',
  )
})
