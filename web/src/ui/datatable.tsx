import { Skeleton } from '@patternfly/react-core'
import { Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table'
import { memo, type ReactNode } from 'react'
import { foreign } from './foreign'

export interface Column<T> {
  name: string
  /** A plain text is shown as one of a cluster (Foreign). */
  cell: (row: T) => ReactNode
  /** Say by what the list is sorted, such as "name" or "-name", and what to sort by from now on. */
  sort?: { by: string; now: string; set: (by: string) => void }
  width?: 10 | 15 | 20 | 25 | 30 | 35 | 40 | 45 | 50 | 60
  modifier?: keyof typeof modifiers
}

const modifiers = {
  wrap: 'pf-m-wrap',
  nowrap: 'pf-m-nowrap',
  breakWord: 'pf-m-break-word',
  fitContent: 'pf-m-fit-content',
}

interface DataTableProps<T> {
  label: string
  /** Where these are the same as before, so are the rows that have not changed: long lists keep them. */
  columns: Column<T>[]
  rows: T[] | undefined
  keyOf: (row: T) => string
  empty: ReactNode
}

/** DataTable shows rows; placeholders while they are awaited, and what leads on where there are none. On a phone each row is a block. */
export function DataTable<T>({ label, columns, rows, keyOf, empty }: DataTableProps<T>) {
  if (rows?.length === 0) return empty
  return (
    <Table aria-label={label} variant="compact" gridBreakPoint="grid-md">
      <Thead>
        <Tr>
          {columns.map((column, i) => (
            <Th key={column.name} width={column.width} modifier="nowrap" sort={column.sort && sortOf(column.sort, i)}>
              {column.name}
            </Th>
          ))}
        </Tr>
      </Thead>
      <Tbody>
        {rows?.map((row) => <Row key={keyOf(row)} row={row} columns={columns} />) ?? placeholders(columns.length)}
      </Tbody>
    </Table>
  )
}

/** Row has the elements of PatternFly's Tr and Td without what these can do besides, which costs a long list most of its time. */
const Row = memo(function Row<T>({ row, columns }: { row: T; columns: Column<T>[] }) {
  return (
    <tr className="pf-v6-c-table__tr">
      {columns.map((column) => (
        <td
          key={column.name}
          data-label={column.name}
          className={`pf-v6-c-table__td ${column.modifier ? modifiers[column.modifier] : ''}`}
        >
          {foreign(column.cell(row))}
        </td>
      ))}
    </tr>
  )
}) as <T>(props: { row: T; columns: Column<T>[] }) => ReactNode

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
