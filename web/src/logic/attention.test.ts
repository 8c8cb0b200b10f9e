import { describe, expect, test } from 'vitest'
import type { AnyObject } from '../api/objects'
import { askedOf, concernsOf, type Sources } from './attention'

const now = new Date('2026-11-25T12:00:00Z')
const nothing: Sources = { clusters: [], operations: [], findings: [], lost: [] }

function cluster(name: string, conditions: Record<string, string>, since: string, more: object = {}): AnyObject {
  return {
    kind: 'Cluster',
    name,
    organization: 'blue',
    uid: name,
    createdAt: '2026-11-01T00:00:00Z',
    generation: 1,
    revision: '1',
    status: {
      conditions: Object.entries(conditions).map(([type, status]) => ({
        type,
        status,
        reason: 'R',
        message: `${type} is ${status}`,
        lastTransitionTime: since,
        observedGeneration: 1,
      })),
    },
    ...more,
  }
}

const operation = (state: string, name: string, kind = 'Cluster', of?: string) => ({
  organization: 'blue',
  operation: { object: { kind, name }, cluster: of, action: 'create', state, reason: 'R', message: 'M' },
})

const finding = (severity: string) => ({
  organization: 'blue',
  cluster: 'a',
  clusterUID: 'u',
  severity,
  rule: 'NodeNotReady',
  kind: 'Node',
  name: 'n1',
  reason: 'the node is not ready',
  remedy: 'replace it',
})

describe('concernsOf', () => {
  test.each<[string, Partial<Sources>, string[]]>([
    ['nothing', {}, []],
    ['a ready cluster', { clusters: [cluster('a', { Ready: 'True' }, '2026-11-25T11:00:00Z')] }, []],
    ['a failing one', { clusters: [cluster('a', { Ready: 'False' }, '2026-11-25T11:59:00Z')] }, ['Not ready a']],
    [
      'one of which it is not known',
      { clusters: [cluster('a', { Ready: 'Unknown' }, '2026-11-25T11:59:00Z')] },
      ['Unknown a'],
    ],
    [
      'one that has just begun',
      { clusters: [cluster('a', { Ready: 'False', Reconciling: 'True' }, '2026-11-25T11:50:00Z')] },
      [],
    ],
    [
      'one that takes long',
      { clusters: [cluster('a', { Ready: 'False', Reconciling: 'True' }, '2026-11-25T11:00:00Z')] },
      ['In progress a'],
    ],
    [
      'one that is deleted for long',
      {
        clusters: [
          cluster('a', { Ready: 'True' }, '2026-11-25T11:00:00Z', { deletionRequestedAt: '2026-11-25T10:00:00Z' }),
        ],
      },
      ['Deleting a'],
    ],
    [
      'the same, said twice',
      {
        clusters: [cluster('a', { Ready: 'False' }, '2026-11-25T11:00:00Z')],
        operations: [operation('Stalled', 'a')],
      },
      ['Stalled a'],
    ],
    ['a retried pool', { operations: [operation('Retrying', 'pool', 'NodePool', 'a')] }, ['Retrying a']],
    ['findings', { findings: [finding('Critical'), finding('Warning'), finding('Info')] }, ['Critical a']],
    [
      'one that is lost, said twice',
      {
        clusters: [cluster('b', { Ready: 'Unknown' }, '2026-11-25T11:00:00Z')],
        lost: [{ organization: 'blue', cluster: 'b', uid: 'u' }],
      },
      ['Unknown b'],
    ],
    ['lost ones', { lost: [{ organization: 'blue', cluster: 'b', uid: 'u' }] }, ['Not connected b']],
    [
      'the order',
      {
        clusters: [
          cluster('young', { Ready: 'False' }, '2026-11-25T11:00:00Z'),
          cluster('old', { Ready: 'False' }, '2026-11-24T11:00:00Z'),
        ],
        lost: [{ organization: 'blue', cluster: 'b', uid: 'u' }],
        operations: [operation('Retrying', 'c'), operation('Stalled', 'd')],
      },
      ['Stalled d', 'Not ready old', 'Not ready young', 'Not connected b', 'Retrying c'],
    ],
  ])('%s', (_, sources, want) => {
    const got = concernsOf({ ...nothing, ...sources }, now)
    expect(got.map((one) => `${one.kind} ${one.cluster}`)).toEqual(want)
  })
})

test('askedOf', () => {
  expect(askedOf('red', ['a', 'b'])).toEqual({ asked: ['red'], left: 0 })
  expect(askedOf(undefined, ['b', 'a'])).toEqual({ asked: ['b', 'a'], left: 0 })
  expect(askedOf(undefined, ['a', 'b', 'c', 'd', 'e', 'f', 'g'])).toEqual({ asked: ['a', 'b', 'c', 'd', 'e'], left: 2 })
})
