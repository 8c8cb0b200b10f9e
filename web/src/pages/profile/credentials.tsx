import { Button, Label } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schemas } from '../../api/client'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { clientName } from '../../logic/clientname'
import { readable } from '../../logic/foreign'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Expires } from '../../ui/expires'
import { FormDialog } from '../../ui/formdialog'
import { Pager } from '../../ui/pager'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'
import { RowActions } from '../../ui/rowactions'
import { useTell } from '../../ui/toasts'
import { CreateToken } from './createtoken'

type Credential = Schemas['Credential']

/** Credentials shows the sessions and tokens of the user, and lets them create and revoke them. */
export function Credentials() {
  const me = useMe()
  const client = useQueryClient()
  const tell = useTell()
  const [{ cursor }] = useUrlState()
  const [creating, setCreating] = useState(false)
  const [going, setGoing] = useState<Credential>()
  const list = useQuery({
    queryKey: ['credentials', cursor],
    queryFn: () => ok(api.GET('/api/v1/me/credentials', { params: { query: { limit: 50, cursor } } })),
  })
  const changed = () => client.invalidateQueries({ queryKey: ['credentials'] })
  const revoke = async (credential: Credential) => {
    await ok(api.DELETE('/api/v1/me/credentials/{credential}', { params: { path: { credential: credential.id } } }))
    tell(`The ${credential.kind} ${credential.name ?? credential.id} was ended`)
    await changed()
  }
  const create = <Button onClick={() => setCreating(true)}>Create token</Button>
  return (
    <Part
      title="Sessions and tokens"
      about="Sessions come from signing in, in browsers and on the command line. Tokens are for programs. End what you do not know."
      actions={create}
    >
      <ProblemAlert error={list.error} again={() => void list.refetch()} />
      {!(list.isError && !list.data) && (
        <DataTable
          label="Your sessions and tokens"
          rows={list.data && (list.data.items ?? [])}
          keyOf={(c) => c.id}
          columns={columns(me.credential.id, setGoing)}
          empty={<Empty title="No sessions or tokens" actions={create} />}
        />
      )}
      <Pager next={list.data?.cursor} />
      {creating && <CreateToken changed={changed} close={() => setCreating(false)} />}
      {going && (
        <FormDialog
          isDanger
          title={`End this ${going.kind}?`}
          act={going.kind === 'token' ? 'Revoke token' : 'End session'}
          run={() => revoke(going)}
          close={() => setGoing(undefined)}
        >
          <p className="kq-wrap">
            {clientName(going.name ?? going.id)} ({going.id}): requests with it are refused from the next one on. This
            cannot be undone.
          </p>
          {going.mint && <p>The tokens that it made end with it.</p>}
          {going.id === me.credential.id && <p>This is the session that you use: you are signed out.</p>}
        </FormDialog>
      )}
    </Part>
  )
}

function columns(present: string, end: (c: Credential) => void): Column<Credential>[] {
  return [
    {
      name: 'Name',
      width: 25,
      cell: (c) => (
        <div>
          <span className="kq-wrap" title={readable(c.name)}>
            {readable(clientName(c.name ?? '–'))}
          </span>{' '}
          {c.id === present && (
            <Label isCompact color="blue">
              this session
            </Label>
          )}
          <div className="kq-quiet kq-small">{c.id}</div>
        </div>
      ),
    },
    { name: 'Kind', cell: (c) => (c.mint ? 'token that mints' : c.kind) },
    {
      name: 'May',
      cell: (c) => (c.scope ? `${c.scope.role} of ${c.scope.organization}` : 'what you may'),
    },
    { name: 'Created', cell: (c) => <Age at={c.createdAt} /> },
    { name: 'Last used', cell: (c) => <Age at={c.lastUsedAt} none="never" /> },
    { name: 'Expires', cell: (c) => <Expires at={c.expiresAt} quiet={c.kind === 'session'} /> },
    {
      name: 'Actions',
      width: 10,
      cell: (c) => (
        <RowActions
          of={`${clientName(c.name ?? c.kind)} ${c.id}`}
          actions={[{ name: c.kind === 'token' ? 'Revoke' : 'End session', isDanger: true, run: () => end(c) }]}
        />
      ),
    },
  ]
}
