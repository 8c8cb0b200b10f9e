import { Button } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, idempotencyKey, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { expiresAt } from '../../logic/expiry'
import { Age } from '../../ui/age'
import { Confirm } from '../../ui/confirm'
import { DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Pager } from '../../ui/pager'
import { Expires } from '../../ui/people/expires'
import { TextField } from '../../ui/people/fields'
import { FormDialog } from '../../ui/people/formdialog'
import { LifetimeField } from '../../ui/people/lifetime'
import { Part } from '../../ui/people/part'
import { RowActions } from '../../ui/people/rowactions'
import { SecretOnce } from '../../ui/people/secretonce'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'

type Credential = Schemas['Credential']

const all = '/api/v1/organizations/{organization}/serviceaccounts/{serviceAccount}/tokens'

/** Tokens shows the tokens of a service account. */
export function Tokens({ organization, account }: { organization: string; account: string }) {
  const client = useQueryClient()
  const tell = useTell()
  const [{ cursor }, set] = useUrlState()
  const [creating, setCreating] = useState(false)
  const [issued, setIssued] = useState<Schemas['Issued']>()
  const [going, setGoing] = useState<Credential>()
  const path = { organization, serviceAccount: account }
  const queryKey = ['serviceaccounts', organization, account, 'tokens']
  const changed = () => client.invalidateQueries({ queryKey })
  const list = useQuery({
    queryKey: [...queryKey, cursor],
    queryFn: () => ok(api.GET(all, { params: { path, query: { limit: 50, cursor } } })),
  })
  const revoke = async (credential: Credential) => {
    await ok(api.DELETE(`${all}/{credential}`, { params: { path: { ...path, credential: credential.id } } }))
    tell(`The token ${credential.name ?? credential.id} was revoked`)
    await changed()
  }
  const create = <Button onClick={() => setCreating(true)}>Create token</Button>
  return (
    <>
      <Button variant="link" isInline onClick={() => set({ account: undefined, cursor: undefined })}>
        All service accounts
      </Button>
      <Part
        title={`Tokens of ${account}`}
        about="A program sends its token in the header Authorization, or has it in KQUEEN_TOKEN. Give each program its own."
        actions={create}
      >
        <ProblemAlert error={list.error} again={() => void list.refetch()} />
        {!(list.isError && !list.data) && (
          <DataTable
            label={`Tokens of ${account}`}
            rows={list.data && (list.data.items ?? [])}
            keyOf={(c) => c.id}
            columns={[
              { name: 'Name', cell: (c) => <span className="kq-wrap">{c.name ?? '–'}</span> },
              { name: 'ID', cell: (c) => <code>{c.id}</code> },
              { name: 'Created', cell: (c) => <Age at={c.createdAt} /> },
              { name: 'Last used', cell: (c) => <Age at={c.lastUsedAt} none="never" /> },
              { name: 'Expires', cell: (c) => <Expires at={c.expiresAt} /> },
              {
                name: 'Actions',
                width: 10,
                cell: (c) => (
                  <RowActions
                    of={c.name ?? c.id}
                    actions={[{ name: 'Revoke', isDanger: true, run: () => setGoing(c) }]}
                  />
                ),
              },
            ]}
            empty={
              <Empty title="It has no tokens yet" actions={create}>
                Without one it cannot make requests.
              </Empty>
            }
          />
        )}
        <Pager next={list.data?.cursor} />
      </Part>
      {creating && <CreateToken path={path} issued={setIssued} changed={changed} close={() => setCreating(false)} />}
      {issued && (
        <SecretOnce
          title={`Token ${issued.name ?? ''} of ${account}`}
          close={() => setIssued(undefined)}
          shown={[
            { about: 'The token:', text: issued.token },
            {
              about: 'To use it from the command line:',
              text: `KQUEEN_SERVER=${location.origin} KQUEEN_TOKEN=${issued.token} kqueen cluster list --org ${organization}`,
            },
          ]}
        />
      )}
      {going && (
        <Confirm
          title={`Revoke the token ${going.name ?? going.id}?`}
          act="Revoke token"
          run={() => revoke(going)}
          close={() => setGoing(undefined)}
        >
          <p>Requests with it are refused from the next one on. This cannot be undone.</p>
        </Confirm>
      )}
    </>
  )
}

function CreateToken({
  path,
  issued,
  changed,
  close,
}: {
  path: { organization: string; serviceAccount: string }
  issued: (i: Schemas['Issued']) => void
  changed: () => Promise<unknown>
  close: () => void
}) {
  const [name, setName] = useState('')
  const [days, setDays] = useState(90)
  const run = async () => {
    const body = { name: name.trim(), expiresAt: expiresAt(days, new Date()) }
    issued(await ok(api.POST(all, { params: { path, header: idempotencyKey() }, body })))
    await changed()
  }
  return (
    <FormDialog
      title={`Create a token of ${path.serviceAccount}`}
      about="It may do what the service account may."
      act="Create token"
      variant="small"
      isIncomplete={!name.trim()}
      run={run}
      close={close}
    >
      <TextField
        label="Name"
        value={name}
        set={setName}
        required
        maxLength={100}
        help="What it is for, such as deploy."
      />
      <LifetimeField days={days} set={setDays} />
    </FormDialog>
  )
}
