import { api, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import type { Query } from '../../logic/inventory'
import { whoRuns } from '../../logic/inventorylinks'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { Digest } from '../../ui/digest'
import { ChangeLabel, Question } from './cells'
import { type PageOf, Pane } from './pane'

type Image = Schemas['InventoryImage']

const read = (query: Query) =>
  ok(api.GET('/api/v1/inventory/images', { params: { query } })) as unknown as Promise<PageOf<Image>>

export function Images() {
  const [search] = useUrlState()
  const columns: Column<Image>[] = [
    {
      name: 'Image',
      cell: (row) => <Question search={whoRuns(row, search)} title="Who runs it" text={row.reference} />,
      width: 35,
    },
    { name: 'Digest', cell: (row) => <Digest digest={row.digest} /> },
    { name: 'Clusters', cell: (row) => row.clusters },
    { name: 'Containers', cell: (row) => row.containers },
    { name: 'First seen', cell: (row) => <Age at={row.firstSeenAt} />, modifier: 'nowrap' },
    { name: 'Last seen', cell: (row) => <Age at={row.lastSeenAt} none="runs" />, modifier: 'nowrap' },
  ]
  if (search.from) columns.unshift({ name: 'Change', cell: (row) => <ChangeLabel change={row.change} /> })
  return (
    <Pane
      view="images"
      columns={columns}
      keyOf={(row) => `${row.change}${row.reference}@${row.digest}`}
      read={read}
      none="No image runs"
    />
  )
}
