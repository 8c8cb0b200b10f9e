import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import { useUrlState } from '../../app/urlstate'
import { Age } from '../../ui/age'
import { Empty } from '../../ui/empty'
import { HealthAndWhy } from '../../ui/health'
import { LiveMark } from '../../ui/livemark'
import { ListPart } from './listpart'

/** SharedProvisioners shows those that every organization may use. */
export function SharedProvisioners() {
  const [{ cursor }] = useUrlState()
  const live = useLive('/api/v1/provisioners', [['provisioners']])
  const list = useQuery({
    queryKey: ['provisioners', 'shared', cursor],
    queryFn: () => ok(api.GET('/api/v1/provisioners', { params: { query: { limit: 50, cursor } } })),
  })
  const shared = list.data?.items.filter((p) => !p.organization)
  return (
    <ListPart
      title="Shared provisioners"
      about="Ways to get clusters that every organization may use, unless its provisionerNames says otherwise. They stand in the namespace kqueen-system."
      actions={<LiveMark state={live} />}
      list={list}
      rows={shared}
      keyOf={(p) => p.uid}
      columns={[
        {
          name: 'Name',
          cell: (p) => (
            <Link to="/provisioners" search={{ name: p.name }}>
              {p.name}
            </Link>
          ),
        },
        { name: 'Driver', cell: (p) => p.spec?.driver },
        { name: 'What it does', cell: (p) => <span className="kq-wrap">{p.status?.driver?.summary ?? '–'}</span> },
        {
          name: 'Health',
          cell: (p) => <HealthAndWhy of={p} />,
        },
        { name: 'Created', cell: (p) => <Age at={p.createdAt} /> },
      ]}
      empty={
        <Empty title="No shared provisioner on this page">
          Organizations can use only their own. kqueen up creates hosted and imported.
        </Empty>
      }
    >
      <p className="kq-quiet kq-small">
        The REST API does not create or change shared provisioners: do it with kubectl on the machine of the
        installation, as CLI and API shows.
      </p>
    </ListPart>
  )
}
