import { Button } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schemas } from '../../api/client'
import { useLive } from '../../api/live'
import { condition } from '../../api/objects'
import { useUrlState } from '../../app/urlstate'
import type { Column } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { HealthAndWhy } from '../../ui/health'
import { LiveMark } from '../../ui/livemark'
import { RowActions } from '../../ui/rowactions'
import { ListPart } from './listpart'
import { EditProvider, RemoveProvider, SetSecret } from './providerdialogs'

export type Provider = Schemas['IdentityProvider']

type Doing = { what: 'create' } | { what: 'edit' | 'secret' | 'delete'; provider: Provider }

/** IdentityProviders shows by whom users sign in, and lets administrators change that. */
export function IdentityProviders() {
  const client = useQueryClient()
  const [{ cursor }] = useUrlState()
  const [doing, setDoing] = useState<Doing>()
  const live = useLive('/api/v1/identityproviders', [['identityproviders']])
  const list = useQuery({
    queryKey: ['identityproviders', cursor],
    queryFn: () => ok(api.GET('/api/v1/identityproviders', { params: { query: { limit: 50, cursor } } })),
  })
  const close = () => setDoing(undefined)
  const changed = () => client.invalidateQueries({ queryKey: ['identityproviders'] })
  const create = <Button onClick={() => setDoing({ what: 'create' })}>Create identity provider</Button>
  return (
    <ListPart
      title="Identity providers"
      about="OpenID Connect providers by which users sign in. The name of a provider stands before the names of its users and groups."
      actions={
        <>
          <LiveMark state={live} />
          {create}
        </>
      }
      list={list}
      keyOf={(p) => p.uid}
      columns={columns(setDoing)}
      empty={
        <Empty title="Users sign in by passwords alone" actions={create}>
          With an identity provider users sign in by the accounts that they have already, and groups of it can be
          members of organizations. <a href="/docs/guides/identity-providers">How to set one up</a>.
        </Empty>
      }
    >
      {doing?.what === 'create' && <EditProvider changed={changed} close={close} />}
      {doing?.what === 'edit' && <EditProvider provider={doing.provider} changed={changed} close={close} />}
      {doing?.what === 'secret' && <SetSecret provider={doing.provider} changed={changed} close={close} />}
      {doing?.what === 'delete' && <RemoveProvider provider={doing.provider} changed={changed} close={close} />}
    </ListPart>
  )
}

function columns(act: (doing: Doing) => void): Column<Provider>[] {
  return [
    {
      name: 'Name',
      cell: (p) => (
        <>
          <div>{p.name}</div>
          {p.spec?.displayName && <div className="kq-quiet kq-small kq-wrap">{p.spec.displayName}</div>}
        </>
      ),
    },
    { name: 'Issuer', cell: (p) => <span className="kq-wrap">{p.spec?.issuer}</span> },
    {
      name: 'Health',
      cell: (p) => <HealthAndWhy of={p} />,
    },
    { name: 'Client secret', cell: secretOf },
    {
      name: 'Administrator groups',
      cell: (p) => <span className="kq-wrap">{p.spec?.adminGroups?.join(', ') || 'none'}</span>,
    },
    {
      name: 'Actions',
      width: 10,
      cell: (p) => (
        <RowActions
          of={p.name}
          actions={[
            { name: 'Edit', run: () => act({ what: 'edit', provider: p }) },
            {
              name: 'Set client secret',
              permission: p.spec?.publicClient
                ? { allowed: false, why: 'The client is a public one: it has no secret.' }
                : undefined,
              run: () => act({ what: 'secret', provider: p }),
            },
            { name: 'Delete', isDanger: true, run: () => act({ what: 'delete', provider: p }) },
          ]}
        />
      ),
    },
  ]
}

function secretOf(p: Provider): string {
  if (p.spec?.publicClient) return 'none needed'
  const ready = condition(p, 'SecretReady')
  if (!ready) return 'not known yet'
  return ready.status === 'True' ? 'set' : 'not set'
}
