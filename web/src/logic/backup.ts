import { type Backup, type Cluster, type Condition, condition, conditionsOf, type Restore } from '../api/objects'
import { versionOf } from './cluster'
import { bytes, count } from './quantity'
import { parseQuantity } from './quota'
import { allowed, type Permission } from './roles'

/** How long the name of a backup or restore may be. */
export const longestName = 63

/** proposedName begins with what is said, and has the minute in it; of names that are taken it is the next one. */
export function proposedName(begin: string, taken: readonly string[], now: Date): string {
  const time = now.toISOString().replaceAll(/[-:]/g, '').replace('T', '-').slice(0, 13)
  const room = longestName - time.length - 1 - 3 // for "-99" behind it
  const name = `${begin.replaceAll('.', '-').slice(0, room).replace(/-+$/, '')}-${time}`
  for (let n = 1; ; n++) {
    const next = n === 1 ? name : `${name}-${n}`
    if (!taken.includes(next)) return next
  }
}

/** nameFault says what is wrong with a name, before the server is asked. */
export function nameFault(name: string, taken: readonly string[]): string | undefined {
  if (name.length > longestName || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name)) {
    return `Small letters, digits and -, at most ${longestName}, beginning and ending with a letter or digit.`
  }
  return taken.includes(name) ? 'There is one of this name already.' : undefined
}

/** momentFault says what is wrong with a moment of the past that is typed; nothing for none. */
export function momentFault(text: string, now: Date): string | undefined {
  if (text.trim() === '') return undefined
  const at = new Date(text.trim())
  if (Number.isNaN(at.getTime())) return 'A time such as 2026-03-01 09:00:00, or nothing.'
  return at > now ? 'That is in the future.' : undefined
}

/** asOf is what a backup of a moment says in its spec, in whole seconds; nothing for one of now. */
export function asOf(text: string): { asOfTime?: string } {
  if (text.trim() === '') return {}
  return { asOfTime: new Date(text.trim()).toISOString().replace(/\.\d+Z$/, 'Z') }
}

/** restorable says whether a cluster can be compared with a backup and restored to it, as far as the backup tells. */
export function restorable(backup: Backup, cluster: Cluster): Permission {
  const not = (why: string): Permission => ({ allowed: false, why })
  if (backup.deletionRequestedAt) return not('The backup is being deleted.')
  if (cluster.deletionRequestedAt) return not('The cluster is being deleted.')
  const of = backup.status?.clusterUID
  if (of && of !== cluster.uid) return not('It is of an earlier cluster of this name, and fits no other one.')
  if (!backup.status?.digest) return not('The backup is not taken yet.')
  if (condition(backup, 'Verified')?.reason === 'BackupDamaged') return not('The backup is damaged.')
  return allowed
}

/** copyable says whether a new cluster can be made of a backup, as far as the backup tells: whose it is does not matter. */
export function copyable(backup: Backup): Permission {
  const of = { uid: backup.status?.clusterUID } as Cluster
  return restorable(backup, of)
}

/** clusterNameFault says what is wrong with the name of a new cluster; whether there is one of it, the server says. */
export function clusterNameFault(name: string): string | undefined {
  if (name.length <= 40 && /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name)) return undefined
  return 'Small letters, digits and -, at most 40, beginning with a letter and ending with a letter or digit.'
}

/** versionsFor are those that a new cluster of a backup can have: of the minor of the backup, or one minor newer. */
export function versionsFor(backup: Backup, releases: readonly string[]): string[] {
  const of = versionOf(backup.status?.version)
  if (!of) return []
  return releases.filter((name) => {
    const v = versionOf(name)
    return v && v.major === of.major && (v.minor === of.minor || v.minor === of.minor + 1)
  })
}

/** size writes a quantity of bytes, or nothing where there is none. */
export function size(quantity: string | number | undefined): string {
  const amount = quantity === undefined ? undefined : parseQuantity(String(quantity))
  return amount === undefined ? '' : bytes(amount)
}

/** What of a restore counts how much. */
export type Changes = NonNullable<NonNullable<Restore['status']>['changes']>

/** changesInWords counts what a restore changes or would change; what the backup alone has is created again. */
export function changesInWords(changes: Changes | undefined): string {
  if (!changes) return ''
  const { added, changed, removed } = changes
  if (added + changed + removed === 0) return 'nothing'
  return `${added.toLocaleString('en')} created, ${changed.toLocaleString('en')} changed, ${removed.toLocaleString('en')} removed`
}

/** moreChanges says how many are not among the first ones that are named. */
export function moreChanges({ added, changed, removed, first }: Changes): string {
  const more = added + changed + removed - (first?.length ?? 0)
  return more > 0 ? `… and ${count(more, 'more object')}` : ''
}

export interface Step {
  type: string
  name: string
  state: 'done' | 'working' | 'failed' | 'pending'
  /** Why, in the words of the controller; of steps that have begun. */
  message?: string
}

const restoring: [type: string, name: string][] = [
  ['BackupWhole', 'Backup read'],
  ['ControlPlaneStopped', 'Control plane stopped'],
  ['StateSaved', 'State before backed up'],
  ['StateWritten', 'State written'],
  ['Serving', 'Control plane answers'],
]
const comparing: [type: string, name: string][] = [
  ['BackupWhole', 'Backup read'],
  ['StateWritten', 'Compared'],
]

const creating: [type: string, name: string][] = [
  ['BackupWhole', 'Backup read'],
  ['ControlPlaneStopped', 'Cluster created'],
  ['StateWritten', 'State written'],
  ['Serving', 'Control plane answers'],
]

/** stepsOf are the steps of a restore in their order. The first one that is not done is at work or has failed, and those behind it are to come. */
export function stepsOf(restore: Restore): Step[] {
  const steps = restore.spec?.compareOnly ? comparing : restore.spec?.newClusterName ? creating : restoring
  const at = steps.findIndex(([type]) => condition(restore, type)?.status !== 'True')
  return steps.map(([type, name], i) => {
    const c = condition(restore, type)
    if (at < 0 || i < at) return { type, name, state: 'done', message: c?.message }
    if (i > at) return { type, name, state: 'pending' }
    // Where a step has not been told of yet, Ready has the cause.
    const said = c ?? condition(restore, 'Ready')
    return { type, name, state: hasFailed(restore, said) ? 'failed' : 'working', message: said?.message }
  })
}

function hasFailed(restore: Restore, c: Condition | undefined): boolean {
  return isStalled(restore) || c?.reason === 'RestoreFailed' || c?.reason === 'RestoreRefused'
}

function isStalled(restore: Restore): boolean {
  return conditionsOf(restore).some((c) => c.type === 'Stalled' && c.status === 'True')
}

/** hasEnded says whether a restore does nothing more: it is complete, or refused. What failed otherwise is tried again. */
export function hasEnded(restore: Restore): boolean {
  return !!restore.status?.completionTime || isStalled(restore)
}

/** included are the objects that a text names, one in a line; undefined for all. */
export function included(text: string): string[] | undefined {
  const lines = [...new Set(text.split('\n').map((line) => line.trim()))].filter((line) => line !== '')
  return lines.length > 0 ? lines : undefined
}

/** includeFault says which line names no object, or nothing. */
export function includeFault(text: string): string | undefined {
  const bad = included(text)?.find((line) => !/^[A-Za-z][-A-Za-z0-9.]*(\/[^/]+){1,2}$/.test(line))
  return bad === undefined ? undefined : `“${bad}” has to be KIND/NAME or KIND/NAMESPACE/NAME`
}
