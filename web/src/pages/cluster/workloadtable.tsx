import { Button, Label } from '@patternfly/react-core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'
import type { Of } from './data'
import { AsOf } from './workloads'

type Workload = Schemas['InventoryWorkload']

/** WorkloadTable lists Deployments, DaemonSets and the like. */
export function WorkloadTable({ of }: { of: Of }) {
  const [state, set] = useUrlState()
  const namespace = state.ns ? [state.ns] : undefined
  const query = useQuery({
    queryKey: ['inventory', 'workloads', of.organization, of.cluster, state.ns, state.cursor],
    queryFn: () =>
      ok(
        api.GET('/api/v1/inventory/workloads', {
          params: {
            query: {
              organization: [of.organization],
              cluster: [of.cluster],
              namespace,
              limit: 50,
              cursor: state.cursor,
            },
          },
        }),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
  return (
    <>
      <AsOf asOf={query.data?.asOf} />
      <ProblemAlert error={query.error} again={() => void query.refetch()} />
      {!query.error && (
        <DataTable
          label="Workloads"
          columns={columnsOf((ns) => set({ ns }))}
          rows={query.data && (query.data.items ?? [])}
          keyOf={(w) => [w.namespace, w.kind, w.name, w.since].join('/')}
          empty={
            <Empty
              title={state.ns ? `Nothing runs in ${state.ns}` : 'Nothing runs in this cluster'}
              filtered={!!state.ns}
            >
              {state.ns ? 'Look at all namespaces.' : 'Connect to it and deploy something: the tab Connect says how.'}
            </Empty>
          }
        />
      )}
      <Pager next={query.data?.cursor} />
    </>
  )
}

function columnsOf(choose: (namespace: string) => void): Column<Workload>[] {
  return [
    { name: 'Name', cell: (w) => w.name, modifier: 'breakWord', width: 35 },
    { name: 'Kind', cell: (w) => w.kind },
    {
      name: 'Namespace',
      cell: (w) => (
        <Button variant="link" isInline onClick={() => choose(w.namespace)}>
          {w.namespace}
        </Button>
      ),
      modifier: 'breakWord',
    },
    {
      name: 'Ready',
      cell: (w) => (
        <Label isCompact status={w.ready >= w.desired ? 'success' : 'warning'}>
          {w.ready} of {w.desired}
        </Label>
      ),
    },
    { name: 'Since', cell: (w) => <Age at={w.since} />, modifier: 'nowrap' },
  ]
}
