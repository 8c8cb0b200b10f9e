import { shellWord } from './shell'
import { asOne, momentFlags, momentOf, timesOf } from './timeslider'

type Search = Record<string, string | undefined>

export type Format = 'csv' | 'json' | 'cyclonedx'

export interface Filter {
  label: string
  hint: string
  /** Several values may be given, with commas between them. */
  many?: boolean
  flag: string
  /** What there is to choose from. */
  choices?: readonly string[]
}

/** What narrows questions, by the name of the parameter in the API and in the URL of the page. */
export const filters = {
  text: { label: 'Image has', hint: 'log4j', flag: '--text' },
  repository: { label: 'Repository', hint: 'docker.io/library/*', flag: '--repository' },
  tag: { label: 'Tag', hint: '1.27', flag: '--tag' },
  digest: { label: 'Digest', hint: 'sha256:…', many: true, flag: '--digest' },
  component: { label: 'Component', hint: 'kubelet, etcd', many: true, flag: '--component' },
  version: { label: 'Version', hint: '<1.35', flag: '--version' },
  cluster: { label: 'Cluster', hint: 'shop, demo', many: true, flag: '--cluster' },
  clusterLabel: { label: 'Cluster label', hint: 'env=prod', many: true, flag: '--cluster-label' },
  severity: {
    label: 'Severity',
    hint: 'any',
    flag: '--severity',
    many: true,
    choices: ['Critical', 'Warning', 'Info'],
  },
  namespace: { label: 'Namespace', hint: 'kube-system', many: true, flag: '--namespace' },
} as const satisfies Record<string, Filter>

export type FilterName = keyof typeof filters

export interface View {
  name: string
  about: string
  filters: readonly FilterName[]
  /** It can be compared between two times. */
  compares?: boolean
  /** It is always of now. */
  timeless?: boolean
  formats: readonly Format[]
}

const where = ['cluster', 'clusterLabel'] as const
const image = ['text', 'repository', 'tag', 'digest'] as const

/** The views of the page, by their name in the API and on the command line. */
export const views = {
  images: {
    name: 'Images',
    about: 'What containers run, by name and digest: also init, sidecar and ephemeral containers, and static pods.',
    filters: [...image, ...where, 'namespace'],
    compares: true,
    formats: ['csv', 'cyclonedx', 'json'],
  },
  binaries: {
    name: 'Binaries',
    about: 'Versions of the API server, etcd, kubelet, container runtime and the other programs of Kubernetes.',
    filters: ['component', 'version', ...where],
    compares: true,
    formats: ['csv', 'json'],
  },
  containers: {
    name: 'Containers',
    about: 'Every container of every pod, with its image, workload and node.',
    filters: [...image, ...where, 'namespace'],
    formats: ['csv', 'json'],
  },
  nodes: {
    name: 'Nodes',
    about: 'Nodes as their clusters have them: versions, conditions and size.',
    filters: where,
    formats: ['csv', 'json'],
  },
  workloads: {
    name: 'Workloads',
    about: 'Deployments, StatefulSets, DaemonSets, Jobs and CronJobs, and how many of their pods are ready.',
    filters: [...where, 'namespace'],
    formats: ['csv', 'json'],
  },
  certificates: {
    name: 'Certificates',
    about: 'Certificates that were seen in clusters, and when they expire.',
    filters: [...where, 'namespace'],
    formats: ['csv', 'json'],
  },
  findings: {
    name: 'Findings',
    about: 'What deserves attention, cluster by cluster, the gravest of each first.',
    filters: ['severity', ...where, 'namespace'],
    formats: ['csv', 'json'],
  },
  clusters: {
    name: 'Clusters',
    about: 'Which clusters are known, since when, as of when, and why one is not watched. Always as of now.',
    filters: where,
    timeless: true,
    formats: ['csv', 'json'],
  },
} as const satisfies Record<string, View>

export type ViewName = keyof typeof views

/** viewOf is the view that a URL asks for; images when it asks for none that there is. */
export function viewOf(search: Search): ViewName {
  const name = search.view ?? 'images'
  return Object.hasOwn(views, name) ? (name as ViewName) : 'images'
}

/** A question as the operations of the API take it. */
export interface Query {
  organization?: string[]
  cluster?: string[]
  clusterLabel?: string[]
  namespace?: string[]
  repository?: string
  tag?: string
  text?: string
  digest?: string[]
  component?: string[]
  version?: string
  places?: boolean
  severity?: ('Critical' | 'Warning' | 'Info')[]
  at?: string
  from?: string
  to?: string
  limit?: number
  cursor?: string
}

/** listOf reads values with commas or white space between them. */
export function listOf(text: string | undefined): string[] {
  return (text ?? '').split(/[\s,]+/).filter(Boolean)
}

/** queryOf is what a URL asks of a view: without what the view does not take. limit is of rows. */
export function queryOf(name: ViewName, search: Search, limit: number): Query {
  const view: View = views[name]
  const query: Query = { limit }
  if (search.org) query.organization = [search.org]
  for (const filter of view.filters) {
    const value = search[filter]?.trim()
    if (!value) continue
    Object.assign(query, { [filter]: (filters[filter] as Filter).many ? listOf(value) : value })
  }
  if (name === 'binaries' && search.places === 'true') query.places = true
  if (search.cursor && !view.timeless) query.cursor = search.cursor
  return { ...query, ...timesOf(momentIn(name, search)) }
}

/** momentIn is the time that a view is asked for: not every view can be compared, or be of another time than now. */
export function momentIn(name: ViewName, search: Search) {
  const view: View = views[name]
  const moment = momentOf(search)
  if (view.timeless) return { kind: 'now' } as const
  const comparing = view.compares && !(name === 'binaries' && search.places === 'true')
  return comparing ? moment : asOne(moment)
}

/** pathOf is a question as a path of the API. A format other than JSON has all rows, without paging. */
export function pathOf(name: ViewName | 'containers/search', query: Query, format?: Format): string {
  const { cursor, limit, ...rest } = query
  const all = format && format !== 'json'
  const params = new URLSearchParams()
  for (const [key, value] of Object.entries(all ? rest : { ...rest, limit, cursor })) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined) params.append(key, String(one))
    }
  }
  if (format) params.set('format', format)
  const text = params.toString()
  return `/api/v1/inventory/${name}${text && `?${text}`}`
}

/** commandOf is what to type to ask the same. */
export function commandOf(name: ViewName, search: Search): string {
  const view: View = views[name]
  const words = ['kqueen inventory', name, search.org ? `--org ${shellWord(search.org)}` : '-A']
  for (const filter of view.filters) {
    const { flag, many } = filters[filter] as Filter
    const value = search[filter]?.trim() ?? ''
    for (const one of many ? listOf(value) : [value]) if (one) words.push(`${flag} ${shellWord(one)}`)
  }
  if (name === 'binaries' && search.places === 'true') words.push('--places')
  return words.join(' ') + momentFlags(momentIn(name, search))
}

/** isFiltered says whether more is found without the filters of a view. */
export function isFiltered(name: ViewName, search: Search): boolean {
  return views[name].filters.some((filter) => search[filter])
}
