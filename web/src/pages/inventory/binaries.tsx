import { api, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import type { Query } from '../../logic/inventory'
import { whereRuns } from '../../logic/inventorylinks'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { ChangeLabel, ClusterCell, Question, Wrapped } from './cells'
import { Pane } from './pane'

type Binary = Schemas['InventoryBinary']

const read = (query: Query) => ok(api.GET('/api/v1/inventory/binaries', { params: { query } }))

const version = (row: Binary) => row.version || (row.managed ? 'run by the provider' : 'not known')

export function Binaries() {
  const [search] = useUrlState()
  const places = search.places === 'true'
  return (
    <Pane
      view="binaries"
      columns={places ? ofPlaces : ofVersions(search)}
      keyOf={(row) => [row.change, row.component, row.version, row.place?.clusterUID, row.node, row.image].join(' ')}
      read={read}
      none="No program of Kubernetes is known"
    />
  )
}

function ofVersions(search: Record<string, string | undefined>): Column<Binary>[] {
  const columns: Column<Binary>[] = [
    {
      name: 'Component',
      cell: (row) => <Question search={whereRuns(row, search)} title="Where it runs" text={row.component} />,
      width: 25,
    },
    { name: 'Version', cell: (row) => <Wrapped text={version(row)} /> },
    { name: 'Clusters', cell: (row) => row.clusters ?? '–' },
    { name: 'Nodes', cell: (row) => row.nodes ?? '–' },
    { name: 'First seen', cell: (row) => <Age at={row.firstSeenAt} />, modifier: 'nowrap' },
    { name: 'Last seen', cell: (row) => <Age at={row.lastSeenAt} none="runs" />, modifier: 'nowrap' },
  ]
  return search.from ? [{ name: 'Change', cell: (row) => <ChangeLabel change={row.change} /> }, ...columns] : columns
}

const ofPlaces: Column<Binary>[] = [
  { name: 'Cluster', cell: (row) => (row.place ? <ClusterCell of={row.place} /> : '–') },
  { name: 'Node', cell: (row) => <Wrapped text={row.node || 'whole cluster'} /> },
  { name: 'Component', cell: (row) => row.component },
  { name: 'Version', cell: (row) => <Wrapped text={version(row)} /> },
  { name: 'Image', cell: (row) => <Wrapped text={row.image} /> },
  { name: 'Since', cell: (row) => <Age at={row.place?.since} />, modifier: 'nowrap' },
]
