import { useQuery } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import type { Release } from '../../api/objects'
import { useUrlState } from '../../app/urlstate'
import { count } from '../../logic/quantity'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Copied } from '../../ui/fromcli'
import { HealthAndWhy } from '../../ui/health'
import { LiveMark } from '../../ui/livemark'
import { ListPart } from './listpart'

/** Releases shows the versions of Kubernetes that clusters can have. */
export function Releases() {
  const [{ cursor, sort = '-name' }, set] = useUrlState()
  const live = useLive('/api/v1/releases', [['releases']])
  const list = useQuery({
    queryKey: ['releases', 'list', sort, cursor],
    queryFn: () => ok(api.GET('/api/v1/releases', { params: { query: { limit: 50, cursor, sort: sort as 'name' } } })),
  })
  return (
    <ListPart
      title="Releases"
      about="Versions of Kubernetes that this installation can run. Releases are added on its machine, where their programs are."
      actions={<LiveMark state={live} />}
      list={list}
      keyOf={(r) => r.uid}
      columns={columns(sort, (by) => set({ sort: by }))}
      empty={
        <Empty title="No release yet" actions={<Copied text="kqueen release build" />}>
          No cluster can be created. Build a release on the machine of the installation, or add one that is downloaded:{' '}
          <a href="/docs/reference/kinds/release">how</a>.
        </Empty>
      }
    />
  )
}

function columns(sort: string, order: (by: string) => void): Column<Release>[] {
  return [
    { name: 'Version', sort: { by: 'name', now: sort, set: order }, cell: (r) => r.name },
    {
      name: 'State',
      cell: (r) => <HealthAndWhy of={r} />,
    },
    { name: 'Upgrades from', cell: (r) => <span className="kq-wrap">{r.status?.upgradeFrom ?? '–'}</span> },
    {
      name: 'Programs',
      cell: (r) => (
        <span className="kq-wrap">
          {r.spec?.source.download ? `downloaded from ${r.spec.source.download.baseURL}` : 'built from source'}
          {`, ${count(r.status?.binaries?.length ?? 0, 'program')} on disk`}
        </span>
      ),
    },
    { name: 'Added', cell: (r) => <Age at={r.createdAt} /> },
  ]
}
