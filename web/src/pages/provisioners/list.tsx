import { PageSection, SearchInput, Toolbar, ToolbarContent, ToolbarItem } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLive } from '../../api/live'
import type { Provisioner } from '../../api/objects'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { may, mayAdminister, organizationsFor, type Permission } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { PageHead } from '../../ui/page'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'
import { columnsOf } from './columns'
import { CreateProvisioner } from './create'
import { DeleteProvisioner } from './delete'
import { listProvisioners, type Order } from './requests'

/** List shows the provisioners that a user may use. */
export function List() {
  const me = useMe()
  const [{ org, q, sort = 'name', cursor }, set] = useUrlState()
  const [creating, setCreating] = useState(false)
  const [going, setGoing] = useState<Provisioner>()
  const live = useLive('/api/v1/provisioners', [['provisioners']])
  const list = useQuery({
    queryKey: ['provisioners', 'list', org, q, sort, cursor],
    queryFn: () => listProvisioners(org, { name: q, sort: sort as Order, cursor }),
  })
  const columns = columnsOf({ me, sort, order: (by) => set({ sort: by }), remove: setGoing })
  const create = (
    <Guarded permission={mayCreate(me, org)} onClick={() => setCreating(true)}>
      Create provisioner
    </Guarded>
  )
  const inOrg = org ? ` --org ${shellWord(org)}` : ''
  return (
    <>
      <PageHead
        title="Provisioners"
        about="Configured ways to get clusters: a driver and its parameters. Some are an organization's, others are shared by the installation."
        live={live}
        actions={
          <>
            {create}
            <FromCli
              lines={[
                { about: 'List provisioners', command: `kqueen provisioner list${inOrg}` },
                { about: 'Create one', command: `kqueen provisioner create ours --driver hosted${inOrg}` },
                { about: 'Create one from a file', command: `kqueen provisioner create -f provisioner.yaml${inOrg}` },
                { about: 'What a driver takes', command: `kqueen provisioner describe hosted${inOrg}` },
              ]}
              calls={[
                { method: 'GET', path: org ? `/api/v1/organizations/${org}/provisioners` : '/api/v1/provisioners' },
              ]}
            />
          </>
        }
      />
      <PageSection>
        <Toolbar>
          <ToolbarContent>
            <ToolbarItem>
              <SearchInput
                aria-label="Provisioners whose name holds"
                placeholder="Name"
                value={q ?? ''}
                onChange={(_, text) => set({ q: text || undefined })}
                onClear={() => set({ q: undefined })}
              />
            </ToolbarItem>
          </ToolbarContent>
        </Toolbar>
        <ProblemAlert error={list.error} again={() => void list.refetch()} />
        {!(list.isError && !list.data) && (
          <DataTable
            label="Provisioners"
            columns={columns}
            rows={list.data?.items}
            keyOf={(p) => p.uid}
            empty={<Nothing filtered={!!q} create={create} />}
          />
        )}
        <Pager next={list.data?.cursor} />
      </PageSection>
      {creating && (
        <CreateProvisioner organization={org} known={list.data?.items ?? []} close={() => setCreating(false)} />
      )}
      {going && <DeleteProvisioner provisioner={going} close={() => setGoing(undefined)} />}
    </>
  )
}

function mayCreate(me: Parameters<typeof may>[0], org: string | undefined): Permission {
  if (org) return may(me, org, 'owner')
  if (organizationsFor(me, 'owner').length > 0 || mayAdminister(me).allowed) return { allowed: true }
  return { allowed: false, why: 'Owners of an organization create its provisioners; you own none.' }
}

function Nothing({ filtered, create }: { filtered: boolean; create: React.ReactNode }) {
  if (filtered) return <Empty filtered title="No provisioner has that name" />
  return (
    <Empty title="No provisioner yet" actions={create}>
      Without one no cluster can be created. An administrator shares one with all organizations, or an owner creates
      one.
    </Empty>
  )
}
