/** An object as files of Kubernetes have it. Fields that the form does not know stay in it. */
export interface Manifest {
  apiVersion: string
  kind: string
  metadata: Record<string, unknown>
  spec?: Record<string, unknown>
}

/** What the page creates: a cluster and, where it shall have nodes, a pool. It is the only place where the form's content is. */
export interface Draft {
  cluster: Manifest
  pool?: Manifest
}

export type Path = readonly (string | number)[]

/** What is wrong with fields, by JSON pointers that begin with /cluster or /pool. */
export type FieldErrors = Record<string, string>

export const apiVersion = 'kqueen.io/v1alpha1'
const namespacePrefix = 'org-'
export const systemNamespace = 'kqueen-system'

/** namespaceOf is where the objects of an organization are. */
export const namespaceOf = (organization: string) => `${namespacePrefix}${organization}`

/** newDraft is what the page begins with. */
export function newDraft(organization: string): Draft {
  return {
    cluster: { apiVersion, kind: 'Cluster', metadata: { name: '', namespace: namespaceOf(organization) }, spec: {} },
  }
}

/** organizationOf is the organization of a draft, as its namespace says. */
export function organizationOf(draft: Draft): string {
  const namespace = String(draft.cluster.metadata.namespace ?? '')
  return namespace.startsWith(namespacePrefix) ? namespace.slice(namespacePrefix.length) : ''
}

/** nameOf is the name of the cluster. */
export const nameOf = (draft: Draft) => String(draft.cluster.metadata.name ?? '')

/** read returns what is at a path, or undefined. */
export function read(value: unknown, path: Path): unknown {
  let at = value
  for (const key of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined
    at = (at as Record<string | number, unknown>)[key]
  }
  return at
}

/** write returns a copy with another value at a path. Undefined removes the field, and objects that have nothing else then. */
export function write<T>(value: T, path: Path, to: unknown): T {
  const [key, ...rest] = path
  if (key === undefined) return to as T
  const has = typeof value === 'object' && value !== null ? value : {}
  const next = write(read(has, [key]), rest, to)
  if (Array.isArray(has)) return has.map((item, i) => (i === key ? next : item)) as T
  const isEmpty = typeof next === 'object' && next !== null && Object.keys(next).length === 0
  const kept = Object.entries(has).filter(([name]) => name !== String(key))
  if (next === undefined || (to === undefined && isEmpty)) return Object.fromEntries(kept) as T
  if (Object.hasOwn(has, key)) {
    return Object.fromEntries(Object.entries(has).map(([name, old]) => [name, name === String(key) ? next : old])) as T
  }
  return Object.fromEntries([...kept, [key, next]]) as T
}

/** named returns a draft with another name of the cluster, which its pool follows. */
export function named(draft: Draft, name: string): Draft {
  const before = nameOf(draft)
  const renamed = { ...draft, cluster: write(draft.cluster, ['metadata', 'name'], name) }
  if (!draft.pool) return renamed
  const own = draft.pool.metadata.name === before
  return {
    ...renamed,
    pool: write(own ? write(draft.pool, ['metadata', 'name'], name) : draft.pool, ['spec', 'clusterName'], name),
  }
}

/** moved returns a draft in another organization. */
export function moved(draft: Draft, organization: string): Draft {
  const namespace = namespaceOf(organization)
  const place = (of: Manifest) => write(of, ['metadata', 'namespace'], namespace)
  return { cluster: place(draft.cluster), ...(draft.pool ? { pool: place(draft.pool) } : {}) }
}

/** withPool returns a draft with a pool of the cluster's name, or with none. */
export function withPool(draft: Draft, wanted: boolean, provider?: string): Draft {
  if (!wanted) return { cluster: draft.cluster }
  const { name, namespace } = draft.cluster.metadata
  const spec = { clusterName: name, replicas: 2, ...(provider ? { template: { provider } } : {}) }
  return { ...draft, pool: { apiVersion, kind: 'NodePool', metadata: { name, namespace }, spec } }
}

export type AddonChoice = 'default' | 'on' | 'off'

interface AddonSetting {
  name: string
  enabled?: boolean
  values?: unknown
}

function settingsOf(draft: Draft): AddonSetting[] {
  const all = read(draft, ['cluster', 'spec', 'addons'])
  return Array.isArray(all) ? (all as AddonSetting[]) : []
}

/** addonChoice is what a draft says of an addon. */
export function addonChoice(draft: Draft, name: string): AddonChoice {
  const enabled = settingsOf(draft).find((s) => s?.name === name)?.enabled
  return enabled === undefined ? 'default' : enabled ? 'on' : 'off'
}

/** withAddon returns a draft that says something else of an addon. Its values stay. */
export function withAddon(draft: Draft, name: string, choice: AddonChoice): Draft {
  const all = settingsOf(draft)
  const { enabled: _, ...kept } = all.find((s) => s?.name === name) ?? { name }
  const next: AddonSetting = choice === 'default' ? kept : { ...kept, enabled: choice === 'on' }
  const says = choice !== 'default' || 'values' in kept
  const others = all.filter((s) => s?.name !== name)
  const addons = says ? [...others, next] : others
  return write(draft, ['cluster', 'spec', 'addons'], addons.length > 0 ? addons : undefined)
}

/** inputOf is what the REST API takes of an object. */
export function inputOf(of: Manifest) {
  const { name, labels, annotations } = of.metadata as { name: string; labels?: never; annotations?: never }
  return { name, labels, annotations, spec: of.spec as never }
}

/** pointerOf is the JSON pointer of a path in a draft. */
export const pointerOf = (path: Path) =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
