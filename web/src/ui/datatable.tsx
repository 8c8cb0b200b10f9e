import { Skeleton } from '@patternfly/react-core'
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table'
import type { ReactNode } from 'react'
import { foreign } from './foreign'

export interface Column<T> {
  name: string
  /** A plain text is shown as one of a cluster (Foreign). */
  cell: (row: T) => ReactNode
  /** Say by what the list is sorted, such as "name" or "-name", and what to sort by from now on. */
  sort?: { by: string; now: string; set: (by: string) => void }
  width?: 10 | 15 | 20 | 25 | 30 | 35 | 40 | 45 | 50 | 60
  modifier?: 'wrap' | 'nowrap' | 'truncate' | 'breakWord' | 'fitContent'
}

interface DataTableProps<T> {
  label: string
  columns: Column<T>[]
  rows: T[] | undefined
  keyOf: (row: T) => string
  /** Where rows are chosen for actions on several. */
  chosen?: { has: (row: T) => boolean; set: (row: T, is: boolean) => void; all: (are: boolean) => void }
  empty: ReactNode
}

/** DataTable shows rows; placeholders while they are awaited, and what leads on where there are none. On a phone each row is a block. */
export function DataTable<T>({ label, columns, rows, keyOf, chosen, empty }: DataTableProps<T>) {
  if (rows?.length === 0) return empty
  return (
    <Table aria-label={label} variant="compact" gridBreakPoint="grid-md">
      <Thead>
        <Tr>
          {chosen && (
            <Th
              aria-label="Choose all"
              select={{ onSelect: (_, are) => chosen.all(are), isSelected: !!rows?.every((row) => chosen.has(row)) }}
            />
          )}
          {columns.map((column, i) => (
            <Th key={column.name} width={column.width} modifier="nowrap" sort={column.sort && sortOf(column.sort, i)}>
              {column.name}
            </Th>
          ))}
        </Tr>
      </Thead>
      <Tbody>
        {rows?.map((row, i) => (
          <Tr key={keyOf(row)}>
            {chosen && (
              <Td select={{ rowIndex: i, onSelect: (_, is) => chosen.set(row, is), isSelected: chosen.has(row) }} />
            )}
            {columns.map((column) => (
              <Td key={column.name} dataLabel={column.name} modifier={column.modifier}>
                {foreign(column.cell(row))}
              </Td>
            ))}
          </Tr>
        )) ?? placeholders(columns.length + (chosen ? 1 : 0))}
      </Tbody>
    </Table>
  )
}

function sortOf(sort: NonNullable<Column<unknown>['sort']>, columnIndex: number) {
  const isBy = sort.now === sort.by || sort.now === `-${sort.by}`
  return {
    sortBy: isBy
      ? { index: columnIndex, direction: sort.now.startsWith('-') ? ('desc' as const) : ('asc' as const) }
      : {},
    onSort: () => sort.set(sort.now === sort.by ? `-${sort.by}` : sort.by),
    columnIndex,
  }
}

function placeholders(columns: number) {
  return ['a', 'b', 'c', 'd', 'e'].map((row) => (
    <Tr key={row}>
      {Array.from({ length: columns }, (_, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they do not move
        <Td key={i}>
          <Skeleton screenreaderText="Loading" />
        </Td>
      ))}
    </Tr>
  ))
}
