import { Alert } from '@patternfly/react-core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { readable } from '../../logic/foreign'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Foreign } from '../../ui/foreign'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'
import type { Of } from './data'

interface Query {
  organization: string[]
  cluster: string[]
  namespace?: string[]
  limit: number
  cursor?: string
}

interface InventoryListProps<T> {
  of: Of
  /** What is listed, as the API names it. */
  list: 'workloads' | 'containers'
  read: (query: Query) => Promise<{ items: T[] | null; cursor?: string; asOf: Schemas['InventoryAsOf'] }>
  columns: Column<T>[]
  keyOf: (row: T) => string
  /** What there is none of, in a namespace or in the cluster, and what leads on where it has none at all. */
  none: string
  lead: ReactNode
}

/** InventoryList is a list of the inventory of one cluster, in the namespace that is chosen or in all, page by page. */
export function InventoryList<T>({ of, list, read, columns, keyOf, none, lead }: InventoryListProps<T>) {
  const [{ ns, cursor }] = useUrlState()
  const query = useQuery({
    queryKey: ['inventory', list, of.organization, of.cluster, ns, cursor],
    queryFn: () =>
      read({
        organization: [of.organization],
        cluster: [of.cluster],
        namespace: ns ? [ns] : undefined,
        limit: 50,
        cursor,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
  return (
    <>
      <AsOf asOf={query.data?.asOf} />
      <ProblemAlert error={query.error} again={() => void query.refetch()} />
      {!query.error && (
        <DataTable
          label={list === 'workloads' ? 'Workloads' : 'Containers'}
          columns={columns}
          rows={query.data && (query.data.items ?? [])}
          keyOf={keyOf}
          empty={
            <Empty title={`${none} in ${readable(ns) || 'this cluster'}`} filtered={!!ns}>
              {ns ? 'Look at all namespaces.' : lead}
            </Empty>
          }
        />
      )}
      <Pager next={query.data?.cursor} />
    </>
  )
}

/** AsOf says of when a list of the inventory is. */
function AsOf({ asOf }: { asOf?: Schemas['InventoryAsOf'] }) {
  if (!asOf) return null
  if (asOf.clusters === 0) {
    return <Alert component="p" isInline variant="info" title="The inventory has not read this cluster yet" />
  }
  if (asOf.live === asOf.clusters) {
    return (
      <div className="kq-quiet kq-small">
        The inventory follows the cluster; as of <Age at={asOf.oldestAt} />.
      </div>
    )
  }
  const why = asOf.notLive?.find((cluster) => cluster.message)?.message
  return (
    <Alert
      component="p"
      isInline
      variant="warning"
      className="kq-wrap"
      title="KQueen does not see into the cluster now"
    >
      This is as it was <Age at={asOf.oldestAt} />. <Foreign text={why} detail />
    </Alert>
  )
}
