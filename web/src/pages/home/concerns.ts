import { useQueries, useQuery } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import { useMe } from '../../app/queries'
import { askedOf, concernsOf } from '../../logic/attention'
import { count } from '../../logic/quantity'
import { useNow } from '../../ui/age'

/** How many clusters, and how much work of each state, are asked for. */
const few = 10
/** How many findings are looked through for critical ones: one page, the largest. */
const mostFindings = 500

function notReady(org: string | undefined, ready: 'false' | 'unknown') {
  const query = { ready, limit: few } as const
  return org
    ? ok(api.GET('/api/v1/organizations/{organization}/clusters', { params: { path: { organization: org }, query } }))
    : ok(api.GET('/api/v1/clusters', { params: { query } }))
}

async function stuck(organization: string) {
  const ask = (state: 'Stalled' | 'Retrying') =>
    ok(
      api.GET('/api/v1/organizations/{organization}/operations', {
        params: { path: { organization }, query: { state, limit: few } },
      }),
    )
  const pages = await Promise.all([ask('Stalled'), ask('Retrying')])
  return pages.flatMap((page) => (page.items ?? []).map((operation) => ({ organization, operation })))
}

/** useConcerns asks for all that may deserve attention. What cannot be had is told, and hides nothing of the rest. */
export function useConcerns(org: string | undefined, organizations?: string[]) {
  const me = useMe()
  const now = useNow()
  const { asked, left } = askedOf(org, organizations ?? Object.keys(me.roles).sort())
  const failing = useQuery({
    queryKey: ['clusters', 'attention', org ?? '', 'false'],
    queryFn: () => notReady(org, 'false'),
  })
  const unknown = useQuery({
    queryKey: ['clusters', 'attention', org ?? '', 'unknown'],
    queryFn: () => notReady(org, 'unknown'),
  })
  const findings = useQuery({
    queryKey: ['inventory', 'attention', org ?? ''],
    queryFn: () =>
      ok(
        api.GET('/api/v1/inventory/findings', {
          params: { query: { organization: org ? [org] : undefined, limit: mostFindings } },
        }),
      ),
    refetchInterval: 60_000,
  })
  const operations = useQueries({
    queries: asked.map((one) => ({ queryKey: ['operations', 'attention', one], queryFn: () => stuck(one) })),
  })
  const concerns = concernsOf(
    {
      clusters: [...(failing.data?.items ?? []), ...(unknown.data?.items ?? [])],
      operations: operations.flatMap((one) => one.data ?? []),
      findings: findings.data?.items ?? [],
      lost: findings.data?.asOf.notLive ?? [],
    },
    now,
  )
  const errors = [
    ...[failing, unknown].map((one) => ({ title: 'Clusters could not be read', one })),
    ...[findings].map((one) => ({ title: 'Findings could not be read', one })),
    ...operations.map((one, i) => ({ title: `Operations of ${asked[i]} could not be read`, one })),
  ]
    .filter(({ one }) => one.isError)
    .map(({ title, one }) => ({ title, error: one.error, again: () => void one.refetch() }))
  return {
    concerns,
    errors: errors.filter((one, i) => errors.findIndex((other) => other.title === one.title) === i),
    busy: [failing, unknown, findings, ...operations].some((one) => one.isPending),
    asOf: findings.data?.asOf,
    notes: [
      left > 0 &&
        `Stalled work was looked for in ${asked.join(', ')}; choose another organization above to look there.`,
      (failing.data?.cursor || unknown.data?.cursor) &&
        'Further clusters are not ready: the list of clusters has them all.',
      findings.data?.cursor &&
        `Critical ones were looked for among the first ${count(findings.data.items?.length ?? 0, 'finding')}; there are more in the inventory.`,
    ].filter((note): note is string => typeof note === 'string' && note !== ''),
  }
}
