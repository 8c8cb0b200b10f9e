import { Label } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schemas } from '../../api/client'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { may } from '../../logic/roles'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Guarded } from '../../ui/guarded'
import { Pager } from '../../ui/pager'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'
import { type RowAction, RowActions } from '../../ui/rowactions'
import { AccountDialogs, type Doing } from './accountdialogs'
import { Tokens } from './tokens'

export type Account = Schemas['ServiceAccount']

/** Accounts shows the service accounts of an organization, or the tokens of the one in the URL. */
export function Accounts({ organization }: { organization: string }) {
  const me = useMe()
  const [{ account }] = useUrlState()
  const permission = may(me, organization, 'owner')
  if (!permission.allowed) return <Empty title="Service accounts are for owners">{permission.why}</Empty>
  return account ? <Tokens organization={organization} account={account} /> : <List organization={organization} />
}

function List({ organization }: { organization: string }) {
  const [{ cursor }, set] = useUrlState()
  const client = useQueryClient()
  const [doing, setDoing] = useState<Doing>()
  const queryKey = ['serviceaccounts', organization]
  const list = useQuery({
    queryKey: [...queryKey, cursor],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/serviceaccounts', {
          params: { path: { organization }, query: { limit: 50, cursor } },
        }),
      ),
  })
  const permission = may(useMe(), organization, 'owner')
  const create = (
    <Guarded permission={permission} onClick={() => setDoing({ what: 'create' })}>
      Create service account
    </Guarded>
  )
  const actions = (a: Account): RowAction[] => [
    { name: 'Tokens', run: () => set({ account: a.name, cursor: undefined }) },
    { name: 'Change role', run: () => setDoing({ what: 'role', account: a }) },
    a.disabled
      ? { name: 'Enable', run: () => setDoing({ what: 'enable', account: a }) }
      : { name: 'Disable', run: () => setDoing({ what: 'disable', account: a }) },
    { name: 'Delete', isDanger: true, run: () => setDoing({ what: 'delete', account: a }) },
  ]
  return (
    <Part
      title="Service accounts"
      about="Programs that use the API, such as CI jobs and Terraform. Each has a role in this organization, and tokens."
      actions={create}
    >
      <ProblemAlert error={list.error} again={() => void list.refetch()} />
      {!(list.isError && !list.data) && (
        <DataTable
          label={`Service accounts of ${organization}`}
          rows={list.data && (list.data.items ?? [])}
          keyOf={(a) => a.name}
          columns={columns(actions)}
          empty={
            <Empty title="No service accounts yet" actions={create}>
              A program should not use the token of a person: it ends when the person leaves.
            </Empty>
          }
        />
      )}
      <Pager next={list.data?.cursor} />
      {doing && (
        <AccountDialogs
          organization={organization}
          doing={doing}
          changed={() => client.invalidateQueries({ queryKey })}
          close={() => setDoing(undefined)}
        />
      )}
    </Part>
  )
}

function columns(actions: (a: Account) => RowAction[]): Column<Account>[] {
  return [
    { name: 'Name', cell: (a) => <span className="kq-wrap">{a.name}</span> },
    { name: 'Display name', cell: (a) => <span className="kq-wrap">{a.displayName || '–'}</span> },
    { name: 'Role', cell: (a) => a.role },
    {
      name: 'State',
      cell: (a) => (
        <div>
          <Label isCompact status={a.disabled ? undefined : 'success'}>
            {a.disabled ? 'Disabled' : 'Enabled'}
          </Label>
        </div>
      ),
    },
    { name: 'Created', cell: (a) => <Age at={a.createdAt} /> },
    { name: 'Actions', width: 10, cell: (a) => <RowActions of={a.name} actions={actions(a)} /> },
  ]
}
