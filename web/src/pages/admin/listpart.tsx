import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { type Column, DataTable } from '../../ui/datatable'
import { Pager } from '../../ui/pager'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'

interface ListPartProps<T> {
  title: string
  about: string
  actions: ReactNode
  /** A page of a collection. */
  list: UseQueryResult<{ items?: T[] | null; cursor?: string }>
  /** Those of the page that are shown; all when left out. */
  rows?: T[]
  keyOf: (one: T) => string
  columns: Column<T>[]
  /** What is shown where there is none. */
  empty: ReactNode
  /** Dialogs. */
  children?: ReactNode
}

/** ListPart is a part of the page of administrators that lists a collection, page by page. What was read before stays while it cannot be read. */
export function ListPart<T>({ title, about, actions, list, rows, keyOf, columns, empty, children }: ListPartProps<T>) {
  return (
    <Part title={title} about={about} actions={actions}>
      <ProblemAlert error={list.error} again={() => void list.refetch()} />
      {!(list.isError && !list.data) && (
        <DataTable
          label={title}
          rows={rows ?? (list.data && (list.data.items ?? []))}
          keyOf={keyOf}
          columns={columns}
          empty={empty}
        />
      )}
      <Pager next={list.data?.cursor} />
      {children}
    </Part>
  )
}
