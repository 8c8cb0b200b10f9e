import type { AnyObject } from '../api/objects'
import { healthOf } from './health'

/** For how long work may be in progress before it deserves attention, in milliseconds. */
export const patience = 30 * 60_000

/** Something that deserves attention, and where it is seen to. */
export interface Concern {
  key: string
  /** 0 is the gravest. */
  rank: number
  /** A word, such as Stalled. */
  kind: string
  /** What it is about: the name of an object. */
  subject: string
  organization: string
  /** The cluster where it is; what is done about it is done there. */
  cluster: string
  message: string
  remedy?: string
  since?: string
  /** Where it leads: the page of the cluster, or its findings. */
  at: 'cluster' | 'findings'
}

interface Operation {
  object: { kind: string; name: string }
  cluster?: string
  action: string
  state: string
  message?: string
  reason: string
  lastTransitionAt?: string
}

interface Finding {
  organization: string
  cluster: string
  clusterUID: string
  severity: string
  rule: string
  kind?: string
  namespace?: string
  name?: string
  part?: string
  reason: string
  remedy?: string
  since?: string
}

interface Lost {
  organization: string
  cluster: string
  uid: string
  asOf?: string
  message?: string
}

export interface Sources {
  /** Clusters that are not ready. */
  clusters: AnyObject[]
  /** Stalled and retried work, by organization. */
  operations: { organization: string; operation: Operation }[]
  findings: Finding[]
  lost: Lost[]
}

/**
 * concernsOf gathers what deserves attention, the gravest first and of those the oldest. What one cluster says twice, as a cluster and as work
 * that is stalled, is there once. Clusters that are being created or deleted are none until they have taken longer than `patience`.
 */
export function concernsOf({ clusters, operations, findings, lost }: Sources, now: Date): Concern[] {
  const all = [
    ...operations.map(ofOperation),
    ...clusters.flatMap((cluster) => ofCluster(cluster, now)),
    ...lost.map(ofLost),
    ...findings.filter((one) => one.severity === 'Critical').map(ofFinding),
  ]
  const once = new Map<string, Concern>()
  for (const concern of all) {
    const before = once.get(concern.key)
    if (!before || concern.rank < before.rank) once.set(concern.key, concern)
  }
  return [...once.values()].sort(
    (a, b) => a.rank - b.rank || (a.since ?? '9').localeCompare(b.since ?? '9') || a.key.localeCompare(b.key),
  )
}

function keyOf(organization: string, cluster: string, kind: string, name: string): string {
  return `${organization}/${cluster}/${kind}/${name}`
}

function ofOperation({ organization, operation }: Sources['operations'][number]): Concern {
  const { object, state } = operation
  const cluster = operation.cluster || object.name
  const what = object.kind === 'Cluster' ? '' : `${object.kind} ${object.name}: `
  return {
    key: keyOf(organization, cluster, object.kind, object.name),
    rank: state === 'Stalled' ? 0 : 3,
    kind: state,
    subject: `${what}${operation.action}`,
    organization,
    cluster,
    message: operation.message || operation.reason,
    since: operation.lastTransitionAt,
    at: 'cluster',
  }
}

function ofCluster(cluster: AnyObject, now: Date): Concern[] {
  const verdict = healthOf(cluster)
  const since = verdict.since ?? cluster.createdAt
  const working = verdict.health === 'progressing' || verdict.health === 'deleting'
  const long = now.getTime() - new Date(since).getTime() > patience
  if (verdict.health === 'ready' || verdict.health === 'asleep' || (working && !long)) return []
  const organization = cluster.organization ?? ''
  return [
    {
      key: keyOf(organization, cluster.name, 'Cluster', cluster.name),
      rank: verdict.text === 'Stalled' ? 0 : working ? 4 : verdict.health === 'unknown' ? 2 : 1,
      kind: verdict.text,
      subject: working ? 'takes long' : 'cluster',
      organization,
      cluster: cluster.name,
      message: verdict.message ?? '',
      since,
      at: 'cluster',
    },
  ]
}

function ofLost(one: Lost): Concern {
  return {
    key: keyOf(one.organization, one.cluster, 'Cluster', one.cluster),
    rank: 2,
    kind: 'Not connected',
    subject: 'cluster',
    organization: one.organization,
    cluster: one.cluster,
    message: one.message || 'It is not watched now: what is shown of it is what was seen last.',
    since: one.asOf,
    at: 'cluster',
  }
}

function ofFinding(one: Finding): Concern {
  const name = [one.namespace, one.name].filter(Boolean).join('/')
  return {
    key: [one.clusterUID, one.rule, one.kind, name, one.part].join('/'),
    rank: 1,
    kind: 'Critical',
    subject: [one.kind, name].filter(Boolean).join(' ') || one.rule,
    organization: one.organization,
    cluster: one.cluster,
    message: one.reason,
    remedy: one.remedy,
    since: one.since,
    at: 'findings',
  }
}

/** How many organizations are asked for their operations. */
export const mostOrganizations = 5

/** askedOf are the organizations whose operations are asked for: the chosen one, or the first of those given. */
export function askedOf(org: string | undefined, organizations: string[]): { asked: string[]; left: number } {
  if (org) return { asked: [org], left: 0 }
  return {
    asked: organizations.slice(0, mostOrganizations),
    left: Math.max(0, organizations.length - mostOrganizations),
  }
}
