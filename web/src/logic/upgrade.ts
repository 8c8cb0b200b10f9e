import type { Schemas } from '../api/client'
import { condition, type Upgrade } from '../api/objects'
import { type Version, versionOf } from './cluster'

/** A step of an upgrade that goes on or has ended; one of a plan has no state yet. */
export type UpgradeStep = NonNullable<NonNullable<Upgrade['status']>['steps']>[number]

export type UpgradeFinding = Schemas['UpgradePlanFinding']

export type UpgradePlanStep = Schemas['UpgradePlanStep']

const minors = (v: Version) => v.major * 1000 + v.minor

const newestFirst = (a: Version, b: Version) => minors(b) - minors(a) || b.patch - a.patch

/**
 * upgradesFrom are the releases to which a version may be raised, the newest first: of each minor between there has to be one, because the
 * control plane goes through each.
 */
export function upgradesFrom(current: string | undefined, releases: readonly Schemas['Release'][]): string[] {
  const now = versionOf(current)
  if (!now) return []
  const ready = releases
    .filter((release) => condition(release, 'Ready')?.status === 'True')
    .flatMap((release) => versionOf(release.name) ?? [])
    .filter((v) => newestFirst(v, now) < 0)
    .sort(newestFirst)
  const there = new Set([minors(now), ...ready.map(minors)])
  const reached = (v: Version) => {
    for (let at = minors(now); at <= minors(v); at++) if (!there.has(at)) return false
    return true
  }
  return ready.filter(reached).map((v) => `v${v.major}.${v.minor}.${v.patch}`)
}

/** hasEnded says whether an upgrade does nothing more. */
export const hasEnded = (upgrade: Upgrade): boolean => !!upgrade.status?.completionTime

/** hasBegunToChange says whether an upgrade has begun to change the cluster: ending it does not bring back what is done. */
export function hasBegunToChange(upgrade: Upgrade): boolean {
  return !!upgrade.status?.steps?.some(
    ({ kind, state }) => kind !== 'Preflight' && kind !== 'Backup' && state !== 'Pending',
  )
}

/** lastEnded is the upgrade of a cluster that has ended last. */
function lastEnded(upgrades: readonly Upgrade[]): Upgrade | undefined {
  const time = (u: Upgrade) => u.status?.completionTime ?? ''
  return upgrades.filter(hasEnded).sort((a, b) => time(b).localeCompare(time(a)))[0]
}

/** rollbackOf is the version to which a cluster can go back: that from which its last upgrade came, if it still has what that led to. */
export function rollbackOf(upgrades: readonly Upgrade[], current: string | undefined): string | undefined {
  const last = lastEnded(upgrades)
  const [from, now] = [versionOf(last?.status?.fromVersion), versionOf(current)]
  if (!last || last.spec?.rollback || last.spec?.version !== current || !from || !now) return
  return from.major === now.major && now.minor - from.minor <= 1 ? last.status?.fromVersion : undefined
}

/**
 * upgradeName is that of an upgrade of a cluster, by its version, so that the same one twice is one. Where one of that name has ended and
 * another one after it, the cluster may have gone back meanwhile: it has a number then.
 */
export function upgradeName(
  upgrades: readonly Upgrade[],
  of: { cluster: string; version: string; rollback: boolean },
): string {
  const name = `${of.cluster}${of.rollback ? '-back-to' : ''}-${of.version}`
  const last = lastEnded(upgrades)
  for (let n = 1; ; n++) {
    const tried = n === 1 ? name : `${name}-${n}`
    const there = upgrades.find((upgrade) => upgrade.name === tried)
    if (!there || !hasEnded(there) || there === last) return tried
  }
}

/** blocking are the findings that keep an upgrade from going on. */
export function blocking(
  findings: readonly UpgradeFinding[] | null | undefined,
  ignore: readonly string[] = [],
): UpgradeFinding[] {
  return (findings ?? []).filter(({ severity, check }) => severity === 'Blocks' && !ignore.includes(check))
}

/**
 * backupBefore is the backup with which a cluster can go back to a version where objects that only the newer one knows are all that stands
 * against it: that which its last upgrade made, if it came from the same minor.
 */
export function backupBefore(
  upgrades: readonly Upgrade[],
  version: string | undefined,
  findings: readonly UpgradeFinding[] | null | undefined,
): string | undefined {
  const against = blocking(findings)
  const [last, to] = [lastEnded(upgrades), versionOf(version)]
  const from = versionOf(last?.status?.fromVersion)
  if (against.length === 0 || against.some(({ check }) => check !== 'NewerObjects')) return
  return !last?.spec?.rollback && from && to && minors(from) === minors(to) ? last?.status?.backupName : undefined
}

/** secondsOf is how long a step took or takes so far; undefined before it has begun. */
export function secondsOf(step: UpgradeStep, now: Date): number | undefined {
  if (!step.startedTime) return
  const end = step.finishedTime ? new Date(step.finishedTime) : now
  return Math.max(0, Math.round((end.getTime() - new Date(step.startedTime).getTime()) / 1000))
}
