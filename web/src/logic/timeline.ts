import type { Schemas } from '../api/client'

export const entryKinds = ['event', 'operation', 'audit'] as const
export type EntryKind = (typeof entryKinds)[number]

/** Entry is one thing that happened, or goes on, in a timeline. */
export interface Entry {
  key: string
  kind: EntryKind
  /** When, as RFC 3339. */
  at: string
  look: 'normal' | 'warning' | 'danger' | 'working'
  /** A word or two. */
  title: string
  /** What it happened to, as "Cluster demo". */
  object: string
  text: string
  /** Who did it. */
  actor?: string
}

/** Source is what was read of one list, the newest first, and whether it has more. */
export interface Source {
  entries: Entry[]
  more: boolean
  /** How far back it was read, where entries were left out of it. */
  until?: string
}

export interface Day {
  /** The local date, as "2026-11-25". */
  date: string
  name: string
  entries: Entry[]
}

export function fromEvent(e: Schemas['ObjectEvent']): Entry {
  const times = e.count > 1 ? ` (${e.count.toLocaleString('en')} times)` : ''
  return {
    key: `event/${e.object.kind}/${e.object.name}/${e.reason}/${e.firstSeenAt}/${e.message}`,
    kind: 'event',
    at: e.lastSeenAt,
    look: e.type === 'Warning' ? 'warning' : 'normal',
    title: e.reason,
    object: `${e.object.kind} ${e.object.name}`,
    text: e.message + times,
  }
}

/** fromOperation is work that goes on; it is of the time when it began, or of now where its controller has not begun. */
export function fromOperation(o: Schemas['Operation'], now: Date): Entry {
  const progress = o.progress ? `${o.progress.done} of ${o.progress.total}: ` : ''
  const looks = { Running: 'working', Retrying: 'warning', Stalled: 'danger' } as const
  return {
    key: `operation/${o.object.kind}/${o.object.name}/${o.action}`,
    kind: 'operation',
    at: o.lastTransitionAt ?? now.toISOString(),
    look: looks[o.state as keyof typeof looks] ?? 'working',
    title: `${o.action} ${o.state.toLowerCase()}`,
    object: `${o.object.kind} ${o.object.name}`,
    text: progress + (o.message || o.reason),
  }
}

export function fromAudit(r: Schemas['AuditRecord']): Entry {
  const dry = r.detail?.dryRun === 'true' ? ' (dry run)' : ''
  const details = Object.entries(r.detail ?? {}).filter(([key]) => key !== 'dryRun')
  const words = details.map(([key, value]) => `${key}: ${value}`)
  const outcome = r.outcome === 'succeeded' ? 'Succeeded' : `Ended as ${r.outcome}${r.status ? ` (${r.status})` : ''}`
  return {
    key: `audit/${r.sequence}`,
    kind: 'audit',
    at: r.time,
    look: r.outcome === 'succeeded' ? 'normal' : r.outcome === 'denied' ? 'warning' : 'danger',
    title: r.action + dry,
    object: [r.object.kind, r.object.name].filter(Boolean).join(' '),
    text: [outcome, r.reason, ...words].filter(Boolean).join('; '),
    actor: r.actor.name ?? r.actor.kind,
  }
}

/**
 * merge makes one timeline of several lists, the newest first. Where a list has more that was not read, what is older than its last entry is
 * left out, as the timeline would have gaps there; `more` says so.
 */
export function merge(sources: readonly Source[]): { entries: Entry[]; more: boolean } {
  const time = (entry: Entry) => Date.parse(entry.at)
  const ends = sources
    .filter((s) => s.more)
    .map((s) => (s.until ? Date.parse(s.until) : Math.min(...s.entries.map(time))))
    .filter(Number.isFinite)
  const horizon = Math.max(Number.NEGATIVE_INFINITY, ...ends)
  const all = new Map(sources.flatMap((s) => s.entries).map((entry) => [entry.key, entry]))
  const entries = [...all.values()].filter((entry) => time(entry) >= horizon)
  entries.sort((a, b) => time(b) - time(a) || a.key.localeCompare(b.key))
  return { entries, more: sources.some((s) => s.more) }
}

/** byDay groups a timeline by the days of the user's clock. */
export function byDay(entries: readonly Entry[], now: Date): Day[] {
  const days: Day[] = []
  for (const entry of entries) {
    const date = dateOf(new Date(entry.at))
    if (days.at(-1)?.date !== date) days.push({ date, name: nameOf(date, new Date(entry.at), now), entries: [] })
    days.at(-1)?.entries.push(entry)
  }
  return days
}

function dateOf(at: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

function nameOf(date: string, at: Date, now: Date): string {
  if (date === dateOf(now)) return 'Today'
  if (date === dateOf(new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1))) return 'Yesterday'
  return at.toLocaleDateString('en-GB', { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' })
}

/** isOf says whether an event is of a cluster: of itself, its control plane, or one of its node pools or machines. */
export function isOf(object: { kind: string; name: string }, cluster: string, pools: readonly string[]): boolean {
  if (object.kind === 'Cluster' || object.kind === 'ControlPlane') return object.name === cluster
  if (object.kind === 'NodePool') return pools.includes(object.name)
  // A machine has the name of its pool and five more letters; the event of one that is gone has nothing else to know it by.
  if (object.kind === 'Machine') return pools.includes(object.name.replace(/-[a-z0-9]{5}$/, ''))
  return false
}
