import { shellWord } from './shell'

type Search = Record<string, string | undefined>

/** How actions end, as the API names it. */
export const outcomes = ['succeeded', 'denied', 'failed', 'unknown'] as const
export type Outcome = (typeof outcomes)[number]

export interface AuditQuery {
  actor?: string
  action?: string
  kind?: string
  object?: string
  outcome?: Outcome
  since?: string
  until?: string
  limit: number
  cursor?: string
}

/** The filters of the page, by their name in the API and in the URL. */
export const auditFilters = {
  actor: { label: 'Who', hint: 'alice' },
  action: { label: 'Action', hint: 'create' },
  kind: { label: 'Kind', hint: 'Cluster' },
  object: { label: 'Object', hint: 'shop' },
} as const

/** auditQueryOf is what a URL asks of the audit log; times that are none are left out. */
export function auditQueryOf(search: Search, limit: number): AuditQuery {
  const query: AuditQuery = { limit }
  for (const name of Object.keys(auditFilters) as (keyof typeof auditFilters)[]) {
    const value = search[name]?.trim()
    if (value) query[name] = value
  }
  if (outcomes.includes(search.outcome as Outcome)) query.outcome = search.outcome as Outcome
  for (const name of ['since', 'until'] as const) {
    const at = new Date(search[name] ?? '')
    if (!Number.isNaN(at.getTime())) query[name] = at.toISOString()
  }
  if (search.cursor) query.cursor = search.cursor
  return query
}

/** auditPath is the log of an organization, or without one that of the installation. */
export function auditPath(organization: string | undefined, rest = ''): string {
  const base = organization ? `/api/v1/organizations/${encodeURIComponent(organization)}` : '/api/v1'
  return `${base}/audit${rest}`
}

/** auditParameters are a query of the audit log as text, with ? before it. */
export function auditParameters(query: AuditQuery): string {
  const params = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)]))
  return `?${params}`
}

/** auditCommand is what to type to read the same. The command line has no --until; --since is how long ago. */
export function auditCommand(organization: string | undefined, query: AuditQuery, now: Date): string {
  const words = ['kqueen audit list', organization ? `--org ${shellWord(organization)}` : '-A']
  for (const name of ['actor', 'action', 'kind', 'object', 'outcome'] as const) {
    const value = query[name]
    if (value) words.push(`--${name} ${shellWord(value)}`)
  }
  if (query.since) {
    const hours = Math.max(1, Math.ceil((now.getTime() - new Date(query.since).getTime()) / 3600_000))
    words.push(`--since ${hours}h`)
  }
  return words.join(' ')
}

interface Report {
  records: number
  head: { sequence: number; hash: string }
  problems: { first: number; last: number; detail: string }[] | null
  more?: boolean
}

/** verdictOf says in words what a check of the log found. */
export function verdictOf(
  report: Report,
  against?: { sequence: number },
): { whole: boolean; title: string; text: string } {
  const problems = report.problems ?? []
  const records = `${report.records.toLocaleString('en')} ${report.records === 1 ? 'record' : 'records'}`
  if (problems.length === 0) {
    const since = against
      ? ` It goes on from record ${against.sequence}, the head that you gave: nothing was removed from its end.`
      : ' That nothing was removed from its end is proved by an earlier head alone: keep the one below.'
    return {
      whole: true,
      title: `The log is whole: ${records} checked`,
      text: `No record was changed or left out.${since}`,
    }
  }
  const n = `${problems.length}${report.more ? ' or more' : ''} ${problems.length === 1 && !report.more ? 'place' : 'places'}`
  return {
    whole: false,
    title: `The log is not whole: something is wrong in ${n}`,
    text: `${records} were checked. Somebody or something changed the log outside of KQueen. Keep a copy of the data directory as it is before you go on.`,
  }
}

/** headOf reads a head as "SEQUENCE:HASH"; undefined when the text is none. */
export function headOf(text: string): { sequence: number; hash: string } | undefined {
  const found = /^\s*(\d{1,15}):([0-9a-f]{64})\s*$/.exec(text)
  return found ? { sequence: Number(found[1]), hash: found[2] ?? '' } : undefined
}
