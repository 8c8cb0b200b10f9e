import { expect, test } from 'vitest'
import type { Condition } from '../api/objects'
import { awaitsFinish, dependents, endsSoon, hasEnded, type Rotation, stepsOf } from './rotation'

function rotation(conditions: [type: string, status: string, reason: string][], status: object = {}, finish = false) {
  const all = conditions.map(([type, is, reason]) => ({ type, status: is, reason, message: reason }) as Condition)
  const spec = { clusterName: 'demo', credential: 'CertificateAuthority', finish }
  return { kind: 'Rotation', name: 'r', spec, status: { conditions: all, ...status } } as unknown as Rotation
}

const states = (of: Rotation) => stepsOf(of).map((step) => step.state)

test('the steps of a rotation', () => {
  expect(states(rotation([]))).toEqual(['working', 'pending', 'pending', 'pending'])
  expect(
    states(
      rotation([
        ['NewTrusted', 'True', 'RotationStepDone'],
        ['NewSigns', 'False', 'RotatingNodes'],
      ]),
    ),
  ).toEqual(['done', 'working', 'pending', 'pending'])
  expect(states(rotation([['NewTrusted', 'False', 'RotationFailed']]))[0]).toBe('failed')
})

test('it waits for its user until that was asked for', () => {
  const signed: [string, string, string][] = [
    ['NewTrusted', 'True', 'RotationStepDone'],
    ['NewSigns', 'True', 'RotationStepDone'],
    ['NewServes', 'False', 'RotationAwaitsFinish'],
  ]
  expect(awaitsFinish(rotation(signed))).toBe(true)
  expect(awaitsFinish(rotation(signed, {}, true))).toBe(false)
  expect(awaitsFinish(rotation(signed.slice(0, 2)))).toBe(false)
  const ended = rotation(signed, { completionTime: '2026-11-25T20:00:00Z' })
  expect([hasEnded(ended), awaitsFinish(ended)]).toEqual([true, false])
})

test('what hangs on the old credential is counted', () => {
  expect(dependents(rotation([]))).toEqual([])
  const status = { olderPods: 2, olderPodNames: ['kube-system/coredns'], pendingMachines: ['a'], olderBackups: 1 }
  expect(dependents(rotation([], status))).toEqual([
    '2 pods began before the new one signed, such as kube-system/coredns',
    'nodes that do not follow yet: a',
    '1 backup that cannot be restored in place once the old key is gone',
  ])
})

test.each([
  ['2027-01-01T00:00:00Z', true],
  ['2026-01-01T00:00:00Z', true],
  ['2036-01-01T00:00:00Z', false],
  [undefined, false],
])('an authority that ends at %s ends soon: %s', (at, soon) => {
  expect(endsSoon(at, new Date('2026-11-25T20:00:00Z'))).toBe(soon)
})
