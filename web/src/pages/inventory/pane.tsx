import { Button } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { isFiltered, momentIn, type Query, queryOf, type ViewName, views } from '../../logic/inventory'
import { wrongWith } from '../../logic/timeslider'
import { DataAge } from '../../ui/dataage'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'

/** How many rows a page of the table has. */
const limit = 50

export interface PageOf<T> {
  items: T[] | null
  cursor?: string
  asOf: Schemas['InventoryAsOf']
}

interface PaneProps<T> {
  view: ViewName
  columns: Column<T>[]
  keyOf: (row: T) => string
  read: (query: Query) => Promise<PageOf<T>>
  /** What there is none of, and when there will be. */
  none: string
  /** Beside the query, what the answer depends on. */
  also?: string
  children?: ReactNode
}

/** Pane asks one question and shows a page of the answer. */
export function Pane<T>({ view, columns, keyOf, read, none, also, children }: PaneProps<T>) {
  const [search, set] = useUrlState()
  const query = queryOf(view, search, limit)
  const moment = momentIn(view, search)
  const still = moment.kind === 'now' && !search.cursor
  const wrong = wrongWith(moment, new Date())
  const answer = useQuery({
    queryKey: ['inventory', view, query, also],
    queryFn: () => read(query),
    enabled: !wrong,
    refetchInterval: still ? 30_000 : false,
  })
  const filtered = isFiltered(view, search) || also !== undefined
  const more = !!answer.data?.cursor
  const clear = () => set(Object.fromEntries([...views[view].filters, 'search'].map((name) => [name, undefined])))
  return (
    <>
      {children}
      <ProblemAlert error={answer.error} again={() => void answer.refetch()} />
      {wrong || (answer.isError && !answer.data) ? null : (
        <>
          <DataAge asOf={answer.data?.asOf} repeats={still} />
          <DataTable
            label={views[view].name}
            columns={columns}
            rows={answer.data && (answer.data.items ?? [])}
            keyOf={keyOf}
            empty={
              <Empty
                title={more ? 'Nothing on this page' : filtered ? 'Nothing fits the filters' : none}
                filtered={filtered || more}
                actions={
                  filtered && !more ? (
                    <Button variant="link" onClick={clear}>
                      Clear all filters
                    </Button>
                  ) : undefined
                }
              >
                {more
                  ? 'Go on to the next page: it looks at further clusters.'
                  : emptyText(view, moment.kind, filtered)}
              </Empty>
            }
          />
          <Pager next={answer.data?.cursor} />
        </>
      )}
    </>
  )
}

function emptyText(view: ViewName, kind: 'now' | 'at' | 'between', filtered: boolean): string | undefined {
  if (filtered) return undefined
  if (view === 'findings') return 'No rule finds anything in the clusters that are known.'
  if (kind === 'at') return 'What was before KQueen knew a cluster is not known.'
  if (kind === 'between') return 'Nothing appeared or vanished between these times.'
  return 'A cluster appears here within seconds after it is connected.'
}
