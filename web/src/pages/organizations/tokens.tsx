import { Button } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, idempotencyKey, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { shellWord } from '../../logic/shell'
import { Age } from '../../ui/age'
import { DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Expires } from '../../ui/expires'
import { FormDialog } from '../../ui/formdialog'
import { Pager } from '../../ui/pager'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'
import { RowActions } from '../../ui/rowactions'
import { useTell } from '../../ui/toasts'
import { TokenDialog } from '../../ui/tokendialog'

type Credential = Schemas['Credential']

const all = '/api/v1/organizations/{organization}/serviceaccounts/{serviceAccount}/tokens'

/** Tokens shows the tokens of a service account. */
export function Tokens({ organization, account }: { organization: string; account: string }) {
  const client = useQueryClient()
  const tell = useTell()
  const [{ cursor }, set] = useUrlState()
  const [creating, setCreating] = useState(false)
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
      {creating && (
        <TokenDialog
          account={account}
          about="It may do what the service account may."
          example="deploy"
          days={90}
          organization={organization}
          command={[`kqueen serviceaccount token create ${shellWord(account)}`, ` --org ${shellWord(organization)}`]}
          create={async (body) => {
            const issued = await ok(api.POST(all, { params: { path, header: idempotencyKey() }, body }))
            await changed()
            return issued
          }}
          close={() => setCreating(false)}
        />
      )}
      {going && (
        <FormDialog
          isDanger
          title={`Revoke the token ${going.name ?? going.id}?`}
          act="Revoke token"
          run={() => revoke(going)}
          close={() => setGoing(undefined)}
        >
          <p>Requests with it are refused from the next one on. This cannot be undone.</p>
        </FormDialog>
      )}
    </>
  )
}
