import { expect, test } from 'vitest'
import type { Schemas } from '../api/client'
import type { Upgrade } from '../api/objects'
import {
  backupBefore,
  blocking,
  hasBegunToChange,
  rollbackOf,
  secondsOf,
  type UpgradeStep,
  upgradeName,
  upgradesFrom,
} from './upgrade'

const release = (name: string, ready = 'True') =>
  ({ name, status: { conditions: [{ type: 'Ready', status: ready }] } }) as unknown as Schemas['Release']

test.each<[string, string | undefined, string[], string[]]>([
  ['a patch and a minor', 'v1.35.4', ['v1.35.4', 'v1.35.5', 'v1.36.3', 'v1.36.1'], ['v1.36.3', 'v1.36.1', 'v1.35.5']],
  ['through a minor', 'v1.34.4', ['v1.35.4', 'v1.36.3'], ['v1.36.3', 'v1.35.4']],
  ['a minor is missing', 'v1.34.4', ['v1.36.3', 'v1.34.10', 'v1.34.9'], ['v1.34.10', 'v1.34.9']],
  ['nothing newer', 'v1.36.3', ['v1.36.3', 'v1.35.4'], []],
  ['no version', undefined, ['v1.36.3'], []],
  ['no release', 'v1.36.3', ['latest'], []],
])('%s', (_, current, releases, want) => {
  expect(
    upgradesFrom(
      current,
      releases.map((name) => release(name)),
    ),
  ).toEqual(want)
})

test('a release that is not ready is not offered', () => {
  expect(upgradesFrom('v1.35.4', [release('v1.36.3', 'False')])).toEqual([])
})

const step = (kind: string, state: string) => ({ name: kind, kind, state }) as UpgradeStep
const upgrade = (...steps: UpgradeStep[]) => ({ status: { steps } }) as unknown as Upgrade

test('an upgrade changes the cluster from its control plane on', () => {
  expect(hasBegunToChange(upgrade(step('Backup', 'Running'), step('ControlPlane', 'Pending')))).toBe(false)
  expect(hasBegunToChange(upgrade(step('Backup', 'Done'), step('ControlPlane', 'Running')))).toBe(true)
  expect(hasBegunToChange({} as Upgrade)).toBe(false)
})

const was = (name: string, from: string, to: string, completionTime?: string, rollback = false) =>
  ({ name, spec: { version: to, rollback }, status: { fromVersion: from, completionTime } }) as unknown as Upgrade

test.each<[string, Upgrade[], string | undefined]>([
  ['back to where the last one came from', [was('a', 'v1.35.4', 'v1.36.3', '2')], 'v1.35.4'],
  ['one that goes on does not count', [was('a', 'v1.35.4', 'v1.36.3')], undefined],
  ['the cluster has gone on since', [was('a', 'v1.34.1', 'v1.35.4', '2')], undefined],
  ['not by two minors', [was('a', 'v1.34.1', 'v1.36.3', '2')], undefined],
  [
    'not back from a rollback',
    [was('a', 'v1.35.4', 'v1.36.3', '2'), was('b', 'v1.36.4', 'v1.36.3', '3', true)],
    undefined,
  ],
  ['none', [], undefined],
])('%s', (_, upgrades, want) => {
  expect(rollbackOf(upgrades, 'v1.36.3')).toBe(want)
})

test('the same upgrade twice is one, and a later one is another', () => {
  const up = { cluster: 'demo', version: 'v1.36.3', rollback: false }
  const first = was('demo-v1.36.3', 'v1.35.4', 'v1.36.3', '2')
  const back = was('demo-back-to-v1.35.4', 'v1.36.3', 'v1.35.4', '3', true)
  const second = was('demo-v1.36.3-2', 'v1.35.4', 'v1.36.3')
  expect(upgradeName([], up)).toBe('demo-v1.36.3')
  expect(upgradeName([first], up)).toBe('demo-v1.36.3')
  expect(upgradeName([first, back], up)).toBe('demo-v1.36.3-2')
  expect(upgradeName([first, back, second], up)).toBe('demo-v1.36.3-2')
  expect(upgradeName([], { ...up, rollback: true })).toBe('demo-back-to-v1.36.3')
})

test('what is ignored or only warns does not block', () => {
  const of = (check: string, severity: 'Blocks' | 'Warns') => ({ check, severity, message: '' })
  const all = [of('NodesReady', 'Blocks'), of('BackupStore', 'Blocks'), of('OwnVersions', 'Warns')]
  expect(blocking(all, ['BackupStore'])).toEqual([all[0]])
  expect(blocking(null)).toEqual([])
})

test('a cluster goes back with the backup of its last upgrade where newer objects alone keep it', () => {
  const of = (check: string) => ({ check, severity: 'Blocks' as const, message: '' })
  const newer = of('NewerObjects')
  const last = was('demo-v1.36.3', 'v1.35.4', 'v1.36.3', '2')
  const upgrade = { ...last, status: { ...last.status, backupName: 'before' } } as typeof last
  expect(backupBefore([upgrade], 'v1.35.4', [newer])).toBe('before')
  expect(backupBefore([upgrade], 'v1.35.4', [])).toBeUndefined()
  expect(backupBefore([upgrade], 'v1.35.4', [newer, of('NodesReady')])).toBeUndefined()
  expect(backupBefore([upgrade], 'v1.34.4', [newer])).toBeUndefined()
  expect(backupBefore([last], 'v1.35.4', [newer])).toBeUndefined()
  expect(backupBefore([], 'v1.35.4', [newer])).toBeUndefined()
})

test('a step that goes on has taken the time until now', () => {
  const now = new Date('2026-11-26T08:01:30Z')
  const begun = { ...step('NodePool', 'Running'), startedTime: '2026-11-26T08:00:00Z' }
  expect(secondsOf(begun, now)).toBe(90)
  expect(secondsOf({ ...begun, finishedTime: '2026-11-26T08:00:16Z' }, now)).toBe(16)
  expect(secondsOf(step('NodePool', 'Pending'), now)).toBeUndefined()
})
