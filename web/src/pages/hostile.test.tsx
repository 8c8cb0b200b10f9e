import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router'
import { cleanup, render, waitFor } from '@testing-library/react'
import type { ReactNode } from 'react'
import { afterEach, expect, test, vi } from 'vitest'
import type { Cluster, Restore } from '../api/objects'
import { parseSearch, stringifySearch } from '../app/urlstate'
import { Capacity } from './cluster/capacity'
import { Facts } from './cluster/facts'
import { Findings } from './cluster/findings'
import { Parts } from './cluster/health'
import { RestoreDetails } from './cluster/restoredetails'
import { Restores } from './cluster/restores'
import { Topology } from './cluster/topology'
import { Workloads } from './cluster/workloads'
import { Capacity as Heat } from './home/capacity'
import { panes } from './inventory/panes'

// What a cluster says may be a MiB long, and have characters that change how others are seen.

const said = `a\u202eb\u001b[31m\u0007\u200b<script>alert(1)</script>${'x'.repeat(1 << 20)}`
const place = { clusterUID: 'u', organization: 'blue', cluster: 'demo', live: false, message: said, since: '' }
const amount = { milliCPU: 1000, memory: 1, pods: 1 }
const row = new Proxy(place as Record<string, unknown>, {
  get: (of, name) => {
    if (typeof name !== 'string' || name in of) return of[name as string]
    if (name === 'image') return { reference: said, digest: said, repository: said }
    if (name === 'place') return place
    if (name === 'allocatable' || name === 'requests') return amount
    if (['labels'].includes(name)) return { [said]: said }
    if (['dnsNames', 'pressure'].includes(name)) return [said]
    if (['clusters', 'nodes', 'containers', 'ready', 'desired', 'pods'].includes(name)) return 1
    if (/At$|^asOf$|^used$|^then$|^toJSON$|^unscheduled$/.test(name)) return undefined
    return said
  },
})
const asOf = { clusters: 1, live: 0, lost: 1, ended: 0, notLive: [{ ...place, uid: 'u' }] }
const total = { allocatable: amount, requests: amount, limits: amount, pods: 1 }
const failed = { type: 'BackupWhole', status: 'False', reason: 'RestoreFailed', message: said, lastTransitionTime: '' }
const changes = { added: 1, changed: 0, removed: 0, first: Array(50).fill(`+ ${said}`) }
const restore = {
  kind: 'Restore',
  name: 'back',
  uid: 'r',
  createdAt: '',
  spec: { backupName: said },
  status: { saved: said, changes, conditions: [failed, { ...failed, type: 'Stalled', status: 'True' }] },
} as unknown as Restore
const answers: Record<string, unknown> = {
  binaries: { items: [{ place, component: said, version: said, image: said, node: said }], asOf },
  usage: { nodes: [row], total, unscheduled: total, unmeasured: said, notRead: [{ resource: said, reason: said }] },
  '{restore}': restore,
  topology: {
    objects: ['from', 'to'].map((id) => ({ id: said + id, kind: said, name: said, phase: said, state: said })),
    relations: [{ from: `${said}from`, to: `${said}to`, type: 'Owns' }],
    notRead: [{ resource: said, reason: said }],
  },
}

vi.mock('../api/client', async (original) => {
  const GET = async (path: string) => {
    const data = answers[path.split('/').at(-1) ?? ''] ?? { items: [row], asOf }
    return { data, response: new Response() }
  }
  return { ...(await original<object>()), api: { GET } }
})

afterEach(cleanup)

async function shown(element: ReactNode, path = '/') {
  const router = createRouter({
    routeTree: createRootRoute({ component: () => element }),
    history: createMemoryHistory({ initialEntries: [path] }),
    parseSearch,
    stringifySearch,
  })
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, structuralSharing: false } } })
  const result = render(
    <QueryClientProvider client={client}>
      <RouterProvider router={router as never} />
    </QueryClientProvider>,
  )
  const body = result.container.ownerDocument.body
  await waitFor(() => expect(body.innerHTML.includes('U+202E')).toBe(true))
  return body
}

const of = { organization: 'blue', cluster: 'demo' }
const cluster = {
  kind: 'Cluster',
  name: 'demo',
  uid: 'u',
  status: {
    version: said,
    endpoint: said,
    ingress: { domains: [said] },
    conditions: [{ type: 'Ready', status: 'False', reason: said, message: said, lastTransitionTime: '' }],
  },
} as unknown as Cluster

const places: [string, ReactNode, string?][] = [
  ...Object.entries(panes).map(([name, Pane]): [string, ReactNode] => [`inventory ${name}`, <Pane key={name} />]),
  ['inventory places', <panes.binaries key="places" />, '/?places=true'],
  ['workloads', <Workloads key="w" of={of} cluster={cluster} />],
  ['containers', <Workloads key="c" of={of} cluster={cluster} />, '/?list=containers'],
  ['findings', <Findings key="f" of={of} />],
  ['capacity', <Capacity key="u" of={of} cluster={cluster} />],
  ['topology', <Topology key="t" of={of} cluster={cluster} />, '/?view=list&all=true'],
  ['facts', <Facts key="d" cluster={cluster} />],
  ['health', <Parts key="h" cluster={cluster} />],
  ['restores', <Restores key="r" of={of} permission={{ allowed: true }} rows={[restore]} show={() => {}} />],
  ['restore', <RestoreDetails key="rd" of={of} name="back" close={() => {}} />],
  ['map of nodes', <Heat key="m" />],
]

test.each(places)('%s shows it cut and harmless', async (_, element, path) => {
  const { innerHTML: html } = await shown(element, path)
  for (const unseen of ['\u202e', '\u200b', '\u0007', '\u001b']) expect(html.includes(unseen)).toBe(false)
  expect(document.querySelector('script')).toBeNull()
  expect(html.length).toBeLessThan(100_000)
})
