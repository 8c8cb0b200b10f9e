import { Button, Label, LabelGroup } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schemas } from '../../api/client'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import type { Permission } from '../../logic/roles'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { type RowAction, RowActions } from '../../ui/rowactions'
import { ListPart } from './listpart'
import { OneTime, type OneTimeFor } from './onetime'
import { type Doing, UserDialogs } from './userdialogs'

export type User = Schemas['User']

/** Users shows who signs in, and lets administrators create, change and delete them. */
export function Users() {
  const client = useQueryClient()
  const [{ cursor }] = useUrlState()
  const [doing, setDoing] = useState<Doing>()
  const [once, setOnce] = useState<OneTimeFor>()
  const list = useQuery({
    queryKey: ['users', cursor],
    queryFn: () => ok(api.GET('/api/v1/users', { params: { query: { limit: 50, cursor } } })),
  })
  const columns = useColumns(setDoing)
  const create = <Button onClick={() => setDoing({ what: 'create' })}>Create user</Button>
  return (
    <ListPart
      title="Users"
      about="Those of this installation, who have a password here, and those who have signed in by an identity provider. Their roles are those of organizations."
      actions={create}
      list={list}
      keyOf={(u) => u.name}
      columns={columns}
      empty={<Empty title="There are no users" actions={create} />}
    >
      {doing && (
        <UserDialogs
          doing={doing}
          show={setOnce}
          changed={() => client.invalidateQueries({ queryKey: ['users'] })}
          close={() => setDoing(undefined)}
        />
      )}
      {once && <OneTime once={once} close={() => setOnce(undefined)} />}
    </ListPart>
  )
}

function useColumns(act: (doing: Doing) => void): Column<User>[] {
  const me = useMe()
  return [
    {
      name: 'Name',
      cell: (u) => (
        <span className="kq-wrap">
          {u.name} {u.name === me.name && <Label isCompact>you</Label>}
        </span>
      ),
    },
    {
      name: 'Display name',
      cell: (u) => (
        <>
          <div className="kq-wrap">{u.displayName || '–'}</div>
          {u.email && <div className="kq-quiet kq-small kq-wrap">{u.email}</div>}
        </>
      ),
    },
    { name: 'Signs in by', cell: (u) => u.provider || 'a password here' },
    { name: 'State', cell: (u) => <State user={u} /> },
    { name: 'Signed in', cell: (u) => <Age at={u.signedInAt} none="never" /> },
    { name: 'Created', cell: (u) => <Age at={u.createdAt} /> },
    {
      name: 'Actions',
      width: 10,
      cell: (u) => <RowActions of={u.name} actions={actionsOf(u, u.name === me.name, act)} />,
    },
  ]
}

function State({ user }: { user: User }) {
  return (
    <LabelGroup aria-label={`State of ${user.name}`} numLabels={4}>
      <Label isCompact status={user.disabled ? undefined : 'success'}>
        {user.disabled ? 'Disabled' : 'Enabled'}
      </Label>
      {user.admin && (
        <Label isCompact color="purple">
          Administrator
        </Label>
      )}
      {!user.provider && !user.hasPassword && (
        <Label isCompact status="warning">
          No password yet
        </Label>
      )}
    </LabelGroup>
  )
}

/** actionsOf is what can be done with a user. Administrators do not lock themselves out by chance. */
function actionsOf(user: User, isMe: boolean, act: (doing: Doing) => void): RowAction[] {
  const notMe: Permission = isMe
    ? { allowed: false, why: 'This is you. Ask another administrator.' }
    : { allowed: true }
  const local: Permission = user.provider
    ? { allowed: false, why: `The password is that of the identity provider ${user.provider}.` }
    : user.disabled
      ? { allowed: false, why: 'Enable the user first.' }
      : { allowed: true }
  return [
    { name: 'Edit names', run: () => act({ what: 'edit', user }) },
    { name: 'Reset password', permission: local, run: () => act({ what: 'reset', user }) },
    user.admin
      ? { name: 'Take administration away', permission: notMe, run: () => act({ what: 'demote', user }) }
      : { name: 'Make administrator', run: () => act({ what: 'promote', user }) },
    { name: 'End sessions and tokens', run: () => act({ what: 'revoke', user }) },
    user.disabled
      ? { name: 'Enable', run: () => act({ what: 'enable', user }) }
      : { name: 'Disable', permission: notMe, run: () => act({ what: 'disable', user }) },
    { name: 'Delete', isDanger: true, permission: notMe, run: () => act({ what: 'delete', user }) },
  ]
}
