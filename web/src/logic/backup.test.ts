import { expect, test } from 'vitest'
import type { Backup, Cluster, Condition, Restore } from '../api/objects'
import {
  asOf,
  changesInWords,
  clusterNameFault,
  copyable,
  hasEnded,
  included,
  includeFault,
  momentFault,
  moreChanges,
  nameFault,
  proposedName,
  restorable,
  size,
  stepsOf,
  versionsFor,
} from './backup'

const now = new Date('2026-11-25T20:46:10Z')

function is(type: string, status: Condition['status'], reason = 'RestoreDone', message = ''): Condition {
  return { type, status, reason, message, lastTransitionTime: '' }
}

function backup(name: string, of: string, status: object = {}, more: object = {}): Backup {
  const spec = { clusterName: of, storeName: 'default' }
  return { kind: 'Backup', name, uid: name, createdAt: '2026-11-25T20:00:00Z', spec, status, ...more } as Backup
}

function restore(name: string, backupName: string, status: object = {}, compareOnly = false): Restore {
  const createdAt = '2026-11-25T20:00:00Z'
  return { kind: 'Restore', name, uid: name, createdAt, spec: { backupName, compareOnly }, status } as Restore
}

test('a name is proposed that is not taken, and is not too long', () => {
  expect(proposedName('demo', [], now)).toBe('demo-20261125-2046')
  expect(proposedName('demo', ['demo-20261125-2046'], now)).toBe('demo-20261125-2046-2')
  expect(proposedName('demo', ['demo-20261125-2046', 'demo-20261125-2046-2'], now)).toBe('demo-20261125-2046-3')
  expect(proposedName('restore-a.b', [], now)).toBe('restore-a-b-20261125-2046')
  const long = proposedName(`${'a'.repeat(45)}-${'b'.repeat(30)}`, [], now)
  expect(long.length).toBeLessThanOrEqual(60)
  expect(nameFault(long, [])).toBeUndefined()
})

test.each(['', 'Monday', '-a', 'a-', 'a b', 'a'.repeat(64), 'taken'])('the name %j is not possible', (name) => {
  expect(nameFault(name, ['taken'])).toBeTruthy()
})

test.each([
  ['whole', { digest: 'sha256:1', clusterUID: 'u' }, {}, true],
  ['not taken', { clusterUID: 'u' }, {}, false],
  ['of an earlier cluster', { digest: 'sha256:1', clusterUID: 'v' }, {}, false],
  ['damaged', { digest: 'sha256:1', conditions: [is('Verified', 'False', 'BackupDamaged')] }, {}, false],
  ['not looked at', { digest: 'sha256:1', conditions: [is('Verified', 'Unknown', 'BackupUnreadable')] }, {}, true],
  ['being deleted', { digest: 'sha256:1' }, { deletionRequestedAt: '2026-11-25T20:00:00Z' }, false],
])('a backup that is %s', (_, status, more, want) => {
  const permission = restorable(backup('b', 'demo', status, more), { uid: 'u' } as Cluster)
  expect(permission.allowed).toBe(want)
  expect(permission.why === undefined).toBe(want)
})

test('steps are done, at work or failed, and to come', () => {
  const states = (r: Restore) => stepsOf(r).map((step) => step.state)
  expect(states(restore('r', 'b'))).toEqual(['working', 'pending', 'pending', 'pending', 'pending'])
  const begun = [is('BackupWhole', 'True'), is('ControlPlaneStopped', 'True')]
  const saving = is('StateSaved', 'False', 'RestoreSaving', 'being saved')
  const r = restore('r', 'b', { conditions: [...begun, saving, is('StateWritten', 'Unknown', 'Pending', 'waits')] })
  expect(states(r)).toEqual(['done', 'done', 'working', 'pending', 'pending'])
  expect(stepsOf(r)[2]?.message).toBe('being saved')
  expect(stepsOf(r)[3]?.message).toBeUndefined()
  const failed = is('StateSaved', 'False', 'RestoreFailed', 'disk full')
  expect(states(restore('r', 'b', { conditions: [...begun, failed] }))[2]).toBe('failed')
})

test('a comparison has two steps, and has ended once it is complete or refused', () => {
  const whole = is('BackupWhole', 'True')
  const compared = [whole, is('StateWritten', 'True'), is('Serving', 'True')]
  const done = restore('r', 'b', { conditions: compared, completionTime: '2026-11-25T20:00:00Z' }, true)
  expect(stepsOf(done).map((step) => step.name)).toEqual(['Backup read', 'Compared'])
  expect(hasEnded(done)).toBe(true)
  expect(hasEnded(restore('r', 'b', { conditions: [whole] }, true))).toBe(false)
  const ready = is('Ready', 'False', 'RestoreRefused', 'there is no backup b')
  const refused = restore('r', 'b', { conditions: [ready, is('Stalled', 'True', 'RestoreRefused')] }, true)
  expect(hasEnded(refused)).toBe(true)
  expect(stepsOf(refused)[0]).toMatchObject({ state: 'failed', message: 'there is no backup b' })
})

test('changes and sizes are put into words', () => {
  expect(changesInWords(undefined)).toBe('')
  expect(changesInWords({ added: 0, changed: 0, removed: 0 })).toBe('nothing')
  const changes = { added: 1200, changed: 1, removed: 2, first: ['+ pods/default/web'] }
  expect(changesInWords(changes)).toBe('1,200 created, 1 changed, 2 removed')
  expect(moreChanges(changes)).toBe('… and 1,202 more objects')
  expect(moreChanges({ added: 1, changed: 0, removed: 0, first: ['+ a'] })).toBe('')
  expect([size('3Mi'), size(512), size(undefined)]).toEqual(['3 MiB', '512 B', ''])
})

test('objects to restore are one in a line', () => {
  expect(included(' \n')).toBeUndefined()
  expect(included('Secret/shop/key\n\n Namespace/shop \nSecret/shop/key')).toEqual([
    'Secret/shop/key',
    'Namespace/shop',
  ])
  expect(includeFault('Widget.example.com/shop/*\nNode/n1')).toBeUndefined()
  for (const bad of ['shop', 'Secret/', 'a/b/c/d', '/shop/key']) expect(includeFault(bad), bad).toContain(bad)
})

test('a moment of the past is a time, or nothing', () => {
  const now = new Date('2026-11-26T12:00:00Z')
  expect(momentFault('', now)).toBeUndefined()
  expect(momentFault('2026-11-26T11:00:00Z', now)).toBeUndefined()
  expect(momentFault('lunch', now)).toMatch('A time such as')
  expect(momentFault('2026-11-26T13:00:00Z', now)).toBe('That is in the future.')
  expect(asOf(' ')).toEqual({})
  expect(asOf('2026-11-26T11:00:00.5+01:00')).toEqual({ asOfTime: '2026-11-26T10:00:00Z' })
})

test('a new cluster is made of a backup of any cluster that is whole', () => {
  expect(copyable(backup('b', 'gone', { digest: 'sha256:1', clusterUID: 'gone' })).allowed).toBe(true)
  expect(copyable(backup('b', 'gone', {})).allowed).toBe(false)
})

test.each(['', 'Twin', '1twin', 'twin-', 'a'.repeat(41)])('a new cluster cannot be called %j', (name) => {
  expect(clusterNameFault(name)).toBeTruthy()
})

test('a new cluster has the minor of the backup, or the next one', () => {
  const of = backup('b', 'demo', { version: 'v1.35.4' })
  expect(versionsFor(of, ['v1.37.0', 'v1.36.3', 'v1.35.4', 'v1.34.4'])).toEqual(['v1.36.3', 'v1.35.4'])
  expect(versionsFor(backup('b', 'demo'), ['v1.36.3'])).toEqual([])
})

test('the steps of a new cluster', () => {
  const of = restore('r', 'b', { conditions: [is('BackupWhole', 'True')] })
  const made = { ...of, spec: { backupName: 'b', newClusterName: 'twin' } } as Restore
  expect(stepsOf(made).map((step) => `${step.name}: ${step.state}`)).toEqual([
    'Backup read: done',
    'Cluster created: working',
    'State written: pending',
    'Control plane answers: pending',
  ])
})
