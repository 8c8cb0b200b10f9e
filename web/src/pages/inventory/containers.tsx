import { Alert, AlertActionLink, Label } from '@patternfly/react-core'
import { api, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { readable } from '../../logic/foreign'
import type { Query } from '../../logic/inventory'
import { count } from '../../logic/quantity'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { Digest } from '../../ui/digest'
import { ClusterCell, Named, Wrapped } from './cells'
import { Pane } from './pane'
import { pasted } from './pasted'

type Container = Schemas['InventoryContainer']

const columns: Column<Container>[] = [
  { name: 'Cluster', cell: (row) => <ClusterCell of={row} /> },
  {
    name: 'Container',
    cell: (row) => (
      <>
        <Wrapped text={row.container} note={`${row.namespace}/${row.pod}`} />
        {row.type !== 'App' && (
          <Label isCompact variant="outline">
            {readable(row.type)}
          </Label>
        )}
        {row.static && (
          <Label isCompact variant="outline">
            Static pod
          </Label>
        )}
      </>
    ),
    width: 20,
  },
  {
    name: 'Image',
    cell: (row) => (
      <>
        <Wrapped text={row.image.reference} />
        <span className="kq-row-note">
          <Digest digest={row.image.digest} />
        </span>
      </>
    ),
    width: 25,
  },
  { name: 'Workload', cell: (row) => <Named name={row.workloadName} note={row.workloadKind} /> },
  { name: 'Node', cell: (row) => <Wrapped text={row.node} /> },
  { name: 'Phase', cell: (row) => <Named name={row.phase} note={row.reason} /> },
  { name: 'Since', cell: (row) => <Age at={row.since} />, modifier: 'nowrap' },
]

const list = (query: Query) => ok(api.GET('/api/v1/inventory/containers', { params: { query } }))

/** find asks by the digests that were pasted. The other filters of images are not asked for beside them. */
const find = (digests: string[]) => (query: Query) => {
  const { text: _, repository: __, tag: ___, digest: ____, ...where } = query
  return ok(api.POST('/api/v1/inventory/containers/search', { params: { query: where }, body: { digests } }))
}

export function Containers() {
  const [search, set] = useUrlState()
  const digests = search.search === 'digests' ? pasted() : []
  const searching = digests.length > 0
  const end = <AlertActionLink onClick={() => set({ search: undefined })}>Show all containers</AlertActionLink>
  return (
    <Pane
      view="containers"
      columns={columns}
      keyOf={(row) => [row.clusterUID, row.namespace, row.pod, row.container, row.image.reference, row.since].join(' ')}
      read={searching ? find(digests) : list}
      also={searching ? digests.join() : undefined}
      none="No container is known"
    >
      {searching && (
        <Alert
          component="h2"
          isInline
          variant="info"
          title={
            digests.length === 1
              ? 'Containers that run the pasted digest'
              : `Containers that run one of the ${count(digests.length, 'pasted digest')}`
          }
          actionLinks={end}
        >
          Filters of images do not narrow this search; those of clusters and namespaces do.
        </Alert>
      )}
      {search.search === 'digests' && !searching && (
        <Alert
          component="h2"
          isInline
          variant="warning"
          title="The pasted digests are not in this browser tab"
          actionLinks={end}
        >
          Paste them again with “Find digests”. They are too many for a link, and are kept in the tab alone. Below are
          all containers.
        </Alert>
      )}
    </Pane>
  )
}
