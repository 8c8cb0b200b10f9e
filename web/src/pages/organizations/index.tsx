import { PageSection, SearchInput, Toolbar, ToolbarContent, ToolbarItem } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import type { Organization } from '../../api/objects'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { count } from '../../logic/quantity'
import { mayAdminister } from '../../logic/roles'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { HealthLabel } from '../../ui/health'
import { PageHead } from '../../ui/page'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'
import { RowActions } from '../../ui/rowactions'
import { CreateOrganization } from './create'
import { DeleteOrganization } from './delete'
import { useOrganizationsLive } from './live'

type Order = 'name' | '-name' | 'createdAt' | '-createdAt'

export default function Page() {
  const me = useMe()
  const [state, set] = useUrlState()
  const [creating, setCreating] = useState(false)
  const [going, setGoing] = useState<string>()
  const { live, refetchInterval } = useOrganizationsLive()
  const { org, name, cursor, sort = 'name' } = state
  const list = useQuery({
    queryKey: ['organizations', 'list', org, name, sort, cursor],
    queryFn: () => read(org, name, sort as Order, cursor),
    refetchInterval,
  })
  const columns = useColumns(sort, (by) => set({ sort: by }), setGoing)
  const create = (
    <Guarded permission={mayAdminister(me)} onClick={() => setCreating(true)}>
      Create organization
    </Guarded>
  )
  return (
    <>
      <PageHead
        title="Organizations"
        about="Tenants of this KQueen: each has members, clusters, provisioners and a quota of its own."
        live={live}
        actions={
          <>
            {create}
            <FromCli
              lines={[
                { about: 'List organizations', command: 'kqueen organization list' },
                {
                  about: 'Create one (administrators)',
                  command:
                    'kqueen organization create payments --display-name Payments --max-clusters 5 --max-nodes 20',
                },
                { about: 'Work in one from now on', command: 'export KQUEEN_ORG=payments' },
              ]}
              calls={[{ method: 'GET', path: '/api/v1/organizations?limit=50' }]}
            />
          </>
        }
      />
      <PageSection>
        {org ? (
          <p className="kq-quiet">
            Only {org}, which is chosen at the top, is shown.{' '}
            <Link to="/organizations" search={{}}>
              Show all organizations
            </Link>
          </p>
        ) : (
          <Search value={name} set={(value) => set({ name: value || undefined })} />
        )}
        <ProblemAlert error={list.error} again={() => void list.refetch()} />
        {!(list.isError && !list.data) && (
          <DataTable
            label="Organizations"
            columns={columns}
            rows={list.data?.items}
            keyOf={(o) => o.uid}
            empty={<Nothing filtered={!!name} create={create} />}
          />
        )}
        <Pager next={list.data?.cursor} />
      </PageSection>
      {creating && <CreateOrganization close={() => setCreating(false)} />}
      {going && <DeleteOrganization name={going} close={() => setGoing(undefined)} />}
    </>
  )
}

async function read(org: string | undefined, name: string | undefined, sort: Order, cursor: string | undefined) {
  if (!org) return ok(api.GET('/api/v1/organizations', { params: { query: { limit: 50, name, sort, cursor } } }))
  const params = { path: { organization: org } }
  const one = await ok(api.GET('/api/v1/organizations/{organization}', { params }))
  return { items: [one], cursor: undefined }
}

function Search({ value, set }: { value?: string; set: (value: string) => void }) {
  return (
    <Toolbar>
      <ToolbarContent>
        <ToolbarItem>
          <SearchInput
            aria-label="Organizations whose name holds"
            placeholder="Name"
            value={value ?? ''}
            onChange={(_, text) => set(text)}
            onClear={() => set('')}
          />
        </ToolbarItem>
      </ToolbarContent>
    </Toolbar>
  )
}

function Nothing({ filtered, create }: { filtered: boolean; create: React.ReactNode }) {
  if (filtered) return <Empty filtered title="No organization has that name" />
  return (
    <Empty title="You belong to no organization" actions={create}>
      Ask an owner of an organization to add you as a member, or an administrator of the installation to create one.
    </Empty>
  )
}

function useColumns(sort: string, order: (by: string) => void, remove: (name: string) => void): Column<Organization>[] {
  const me = useMe()
  return [
    {
      name: 'Name',
      sort: { by: 'name', now: sort, set: order },
      cell: (o) => (
        <Link
          to="/organizations/$organization"
          params={{ organization: o.name }}
          search={(before) => ({ org: before.org })}
        >
          {o.name}
        </Link>
      ),
    },
    { name: 'Display name', cell: (o) => <span className="kq-wrap">{o.spec?.displayName || '–'}</span> },
    { name: 'Your role', cell: (o) => me.roles[o.name] ?? (mayAdminister(me).allowed ? 'administrator' : '–') },
    { name: 'Members', cell: (o) => count(o.spec?.members?.length ?? 0, 'member') },
    {
      name: 'Health',
      cell: (o) => (
        <div>
          <HealthLabel of={o} />
        </div>
      ),
    },
    { name: 'Created', sort: { by: 'createdAt', now: sort, set: order }, cell: (o) => <Age at={o.createdAt} /> },
    {
      name: 'Actions',
      width: 10,
      cell: (o) => (
        <RowActions
          of={o.name}
          actions={[{ name: 'Delete', isDanger: true, permission: mayAdminister(me), run: () => remove(o.name) }]}
        />
      ),
    },
  ]
}
