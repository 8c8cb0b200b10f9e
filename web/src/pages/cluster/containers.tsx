import { Label } from '@patternfly/react-core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'
import type { Of } from './data'
import { AsOf, type Container, type RowActions } from './workloads'

/** Containers lists the containers of pods with their images. */
export function Containers({ of, actions }: { of: Of; actions?: RowActions }) {
  const [state] = useUrlState()
  const namespace = state.ns ? [state.ns] : undefined
  const query = useQuery({
    queryKey: ['inventory', 'containers', of.organization, of.cluster, state.ns, state.cursor],
    queryFn: () =>
      ok(
        api.GET('/api/v1/inventory/containers', {
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
  const more: Column<Container>[] = actions ? [{ name: 'Actions', cell: actions }] : []
  return (
    <>
      <AsOf asOf={query.data?.asOf} />
      <ProblemAlert error={query.error} again={() => void query.refetch()} />
      {!query.error && (
        <DataTable
          label="Containers"
          columns={[...columns, ...more]}
          rows={query.data && (query.data.items ?? [])}
          keyOf={(c) => [c.namespace, c.pod, c.type, c.container, c.since].join('/')}
          empty={
            <Empty
              title={state.ns ? `No pod runs in ${state.ns}` : 'No pod runs in this cluster'}
              filtered={!!state.ns}
            >
              {state.ns ? 'Look at all namespaces.' : 'A pod needs a node that is ready: see the tab Nodes.'}
            </Empty>
          }
        />
      )}
      <Pager next={query.data?.cursor} />
    </>
  )
}

const phases: Record<string, 'success' | 'info' | 'warning' | 'danger'> = {
  Running: 'success',
  Succeeded: 'success',
  Pending: 'info',
  Failed: 'danger',
  Unknown: 'warning',
}

const columns: Column<Container>[] = [
  {
    name: 'Container',
    cell: (c) => (
      <>
        {c.container} {c.type !== 'App' && <Label isCompact>{c.type}</Label>}
      </>
    ),
    modifier: 'breakWord',
  },
  {
    name: 'Pod',
    cell: (c) => (
      <>
        {c.pod}
        {c.workloadName && (
          <div className="kq-quiet kq-small">
            of {c.workloadKind} {c.workloadName}
          </div>
        )}
      </>
    ),
    modifier: 'breakWord',
    width: 20,
  },
  { name: 'Namespace', cell: (c) => c.namespace, modifier: 'breakWord', width: 15 },
  {
    name: 'Image',
    cell: (c) => (
      <>
        {c.image.reference}
        {c.image.digest && <div className="kq-quiet kq-small">{c.image.digest}</div>}
      </>
    ),
    modifier: 'breakWord',
    width: 25,
  },
  {
    name: 'State',
    cell: (c) => (
      <>
        <Label isCompact status={phases[c.phase ?? '']}>
          {c.phase ?? 'not known'}
        </Label>
        {c.reason && <div className="kq-quiet kq-small">{c.reason}</div>}
      </>
    ),
    modifier: 'breakWord',
  },
  { name: 'Node', cell: (c) => c.node ?? 'none', modifier: 'breakWord' },
  { name: 'Since', cell: (c) => <Age at={c.since} />, modifier: 'nowrap' },
]
