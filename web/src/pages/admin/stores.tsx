import { Button } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import { useUrlState } from '../../app/urlstate'
import { type BackupStore, placeOf } from '../../logic/backupstore'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Foreign } from '../../ui/foreign'
import { HealthAndWhy } from '../../ui/health'
import { LiveMark } from '../../ui/livemark'
import { RowActions } from '../../ui/rowactions'
import { ListPart } from './listpart'
import { CreateStore, RemoveStore, SetStoreCredentials } from './storedialogs'

type Doing = { what: 'create' } | { what: 'credentials' | 'delete'; store: BackupStore }

/** BackupStores shows where backups are kept, and lets administrators add places and set their credentials. */
export function BackupStores() {
  const client = useQueryClient()
  const [{ cursor }] = useUrlState()
  const [doing, setDoing] = useState<Doing>()
  const live = useLive('/api/v1/backupstores', [['backupstores']])
  const list = useQuery({
    queryKey: ['backupstores', cursor],
    queryFn: () => ok(api.GET('/api/v1/backupstores', { params: { query: { limit: 50, cursor } } })),
  })
  const close = () => setDoing(undefined)
  const changed = () => client.invalidateQueries({ queryKey: ['backupstores'] })
  const create = <Button onClick={() => setDoing({ what: 'create' })}>Create backup store</Button>
  return (
    <ListPart
      title="Backup stores"
      about="Where backups of clusters are kept: buckets of S3 servers, or folders of KQueen’s host. All that is written there is encrypted."
      actions={
        <>
          <LiveMark state={live} />
          {create}
        </>
      }
      list={list}
      keyOf={(one) => one.uid}
      columns={columns(setDoing)}
      empty={
        <Empty title="There is no backup store" actions={create}>
          No cluster can be backed up.
        </Empty>
      }
    >
      {doing?.what === 'create' && (
        <CreateStore
          changed={changed}
          close={close}
          done={(store) => setDoing(store.spec?.s3 ? { what: 'credentials', store } : undefined)}
        />
      )}
      {doing?.what === 'credentials' && <SetStoreCredentials store={doing.store} changed={changed} close={close} />}
      {doing?.what === 'delete' && <RemoveStore store={doing.store} changed={changed} close={close} />}
    </ListPart>
  )
}

function columns(act: (doing: Doing) => void): Column<BackupStore>[] {
  return [
    { name: 'Name', cell: (one) => one.name, modifier: 'breakWord', width: 15 },
    { name: 'Place', cell: (one) => <Foreign text={placeOf(one)} />, modifier: 'breakWord', width: 30 },
    { name: 'Health', cell: (one) => <HealthAndWhy of={one} />, width: 25 },
    {
      name: 'For',
      cell: ({ spec }) => spec?.organizationNames?.join(', ') ?? 'all organizations',
      modifier: 'breakWord',
    },
    { name: 'At most', cell: ({ spec }) => `${spec?.maxBackups ?? 200} each`, modifier: 'nowrap' },
    { name: 'Created', cell: (one) => <Age at={one.createdAt} />, modifier: 'nowrap' },
    {
      name: 'Actions',
      cell: (one) => (
        <RowActions
          of={one.name}
          actions={[
            {
              name: 'Set credentials',
              permission: one.spec?.s3 ? undefined : { allowed: false, why: 'A folder wants none.' },
              run: () => act({ what: 'credentials', store: one }),
            },
            {
              name: 'Delete',
              permission: one.deletionRequestedAt ? { allowed: false, why: 'It is being deleted already.' } : undefined,
              run: () => act({ what: 'delete', store: one }),
              isDanger: true,
            },
          ]}
        />
      ),
    },
  ]
}
