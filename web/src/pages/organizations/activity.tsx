import { Label, ToggleGroup, ToggleGroupItem, Toolbar, ToolbarContent, ToolbarItem } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, ok, type Schemas } from '../../api/client'
import { useLive } from '../../api/live'
import { useUrlState } from '../../app/urlstate'
import { Age } from '../../ui/age'
import { DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Foreign } from '../../ui/foreign'
import { LiveMark } from '../../ui/livemark'
import { Pager } from '../../ui/pager'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'

type Event = Schemas['ObjectEvent']
type EventType = 'Normal' | 'Warning'

/** Activity shows what happened to the objects of an organization in the last hour, as it happens. */
export function Activity({ organization }: { organization: string }) {
  const [{ type, cursor }, set] = useUrlState()
  const live = useLive(`/api/v1/organizations/${encodeURIComponent(organization)}/events`, [['events', organization]])
  const wanted = type === 'Normal' || type === 'Warning' ? (type as EventType) : undefined
  const list = useQuery({
    queryKey: ['events', organization, wanted, cursor],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/events', {
          params: { path: { organization }, query: { limit: 50, cursor, type: wanted } },
        }),
      ),
  })
  return (
    <Part
      title="Activity"
      about={
        <>
          Events of its clusters, node pools and machines, kept for an hour. Who did what, for as long as it is kept, is
          in the{' '}
          <Link to="/audit" search={{ org: organization }}>
            audit log
          </Link>
          .
        </>
      }
      actions={<LiveMark state={live} />}
    >
      <Toolbar>
        <ToolbarContent>
          <ToolbarItem>
            <ToggleGroup aria-label="Type of events">
              <ToggleGroupItem text="All" isSelected={!wanted} onChange={() => set({ type: undefined })} />
              <ToggleGroupItem
                text="Warnings"
                isSelected={wanted === 'Warning'}
                onChange={() => set({ type: 'Warning' })}
              />
              <ToggleGroupItem
                text="Normal"
                isSelected={wanted === 'Normal'}
                onChange={() => set({ type: 'Normal' })}
              />
            </ToggleGroup>
          </ToolbarItem>
        </ToolbarContent>
      </Toolbar>
      <ProblemAlert error={list.error} again={() => void list.refetch()} />
      {!(list.isError && !list.data) && (
        <DataTable<Event>
          label={`Events of ${organization}`}
          rows={list.data && (list.data.items ?? [])}
          keyOf={(e) => `${e.object.uid}${e.reason}${e.firstSeenAt}${e.message}`}
          columns={[
            { name: 'Last seen', cell: (e) => <Age at={e.lastSeenAt} /> },
            {
              name: 'Type',
              cell: (e) => (
                <div>
                  <Label isCompact status={e.type === 'Warning' ? 'warning' : undefined}>
                    {e.type}
                  </Label>
                </div>
              ),
            },
            { name: 'Object', cell: (e) => <ObjectName event={e} organization={organization} /> },
            { name: 'Reason', cell: (e) => e.reason },
            { name: 'Message', cell: (e) => <Foreign text={e.message} />, width: 40 },
            { name: 'Count', cell: (e) => e.count.toLocaleString('en') },
          ]}
          empty={
            <Empty title={wanted ? 'No such events' : 'Nothing happened in the last hour'} filtered={!!wanted}>
              Events are kept for an hour. What users did before is in the audit log.
            </Empty>
          }
        />
      )}
      <Pager next={list.data?.cursor} />
    </Part>
  )
}

function ObjectName({ event, organization }: { event: Event; organization: string }) {
  const text = `${event.object.kind} ${event.object.name}`
  if (event.object.kind !== 'Cluster') return <Foreign text={text} />
  const params = { organization, cluster: event.object.name }
  return (
    <Link to="/organizations/$organization/clusters/$cluster" params={params} search={{}}>
      <Foreign text={text} />
    </Link>
  )
}
