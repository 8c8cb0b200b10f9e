import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core'
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query'
import { api, ok, type Schemas } from '../../api/client'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import { ProblemAlert } from '../../ui/problem'
import { SeverityLabel } from '../../ui/severity'
import type { Of } from './data'

type Finding = Schemas['InventoryFinding']

/** Findings are what the inventory finds wrong in this cluster, the worst first. */
export function Findings({ of }: { of: Of }) {
  const query = useInfiniteQuery({
    queryKey: ['inventory', 'findings', of.organization, of.cluster],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/api/v1/inventory/findings', {
          params: { query: { organization: [of.organization], cluster: [of.cluster], limit: 10, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.cursor || undefined,
    placeholderData: keepPreviousData,
  })
  const rows = query.data?.pages.flatMap((page) => page.items ?? [])
  return (
    <Card>
      <CardTitle component="h2">Findings</CardTitle>
      <CardBody>
        <ProblemAlert error={query.error} again={() => void query.refetch()} />
        {!query.error && (
          <DataTable
            label="Findings of the inventory"
            columns={columns}
            rows={rows}
            keyOf={(f) => [f.rule, f.kind, f.namespace, f.name, f.part].join('/')}
            empty={<p>The inventory finds nothing wrong in this cluster.</p>}
          />
        )}
        {query.hasNextPage && (
          <Button variant="link" isLoading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
            Show more findings
          </Button>
        )}
      </CardBody>
    </Card>
  )
}

const columns: Column<Finding>[] = [
  {
    name: 'Severity',
    cell: (f) => <SeverityLabel severity={f.severity} />,
  },
  { name: 'Object', cell: (f) => objectOf(f), modifier: 'breakWord', width: 25 },
  {
    name: 'Finding',
    cell: (f) => (
      <>
        <Foreign text={f.reason} />
        <div className="kq-quiet kq-small">
          <Foreign text={f.remedy} />
        </div>
      </>
    ),
    modifier: 'breakWord',
    width: 50,
  },
  { name: 'Since', cell: (f) => <Age at={f.since} />, modifier: 'nowrap' },
]

function objectOf(f: Finding): string {
  const name = [f.namespace, f.name].filter(Boolean).join('/')
  return [f.kind, name, f.part && `(${f.part})`].filter(Boolean).join(' ') || 'the cluster'
}
