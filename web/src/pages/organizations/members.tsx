import { Label } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { useMe } from '../../app/queries'
import { isLastOwner, type Member, mayLoseOwner, roleTexts } from '../../logic/members'
import { may, type Role } from '../../logic/roles'
import { DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { FormDialog } from '../../ui/formdialog'
import { Guarded } from '../../ui/guarded'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'
import { RowActions } from '../../ui/rowactions'
import { useTell } from '../../ui/toasts'
import { AddMember, ChangeRole } from './memberdialogs'

type Doing = { what: 'add' } | { what: 'change' | 'remove'; member: Member }

/** Members shows who belongs to an organization, and lets its owners change that. */
export function Members({ organization }: { organization: string }) {
  const me = useMe()
  const [doing, setDoing] = useState<Doing>()
  const permission = may(me, organization, 'owner')
  const list = useQuery({
    queryKey: ['organizations', organization, 'members'],
    queryFn: () => ok(api.GET('/api/v1/organizations/{organization}/members', { params: { path: { organization } } })),
  })
  const members = list.data?.items ?? []
  const close = () => setDoing(undefined)
  const add = (
    <Guarded permission={permission} onClick={() => setDoing({ what: 'add' })}>
      Add member
    </Guarded>
  )
  return (
    <Part
      title="Members"
      about="Users and groups of identity providers. Who is named several times has the highest of the roles. A change holds within five seconds."
      actions={add}
    >
      <ProblemAlert error={list.error} again={() => void list.refetch()} />
      {!(list.isError && !list.data) && (
        <DataTable
          label={`Members of ${organization}`}
          rows={list.data && members}
          keyOf={(m) => m.id}
          columns={[
            {
              name: 'Member',
              cell: (m) => (
                <span className="kq-wrap">
                  {m.user ?? m.group} {m.user === me.name && <Label isCompact>you</Label>}
                </span>
              ),
            },
            { name: 'Kind', cell: (m) => (m.group ? 'group' : 'user') },
            { name: 'Role', cell: (m) => m.role },
            { name: 'May', cell: (m) => roleTexts[m.role as Role], width: 40 },
            {
              name: 'Actions',
              width: 10,
              cell: (m) => (
                <RowActions
                  of={m.id}
                  actions={[
                    { name: 'Change role', permission, run: () => setDoing({ what: 'change', member: m }) },
                    {
                      name: 'Remove',
                      isDanger: true,
                      permission: mayLoseOwner(me, organization, members, m),
                      run: () => setDoing({ what: 'remove', member: m }),
                    },
                  ]}
                />
              ),
            },
          ]}
          empty={
            <Empty title="Nobody belongs to it yet" actions={add}>
              Only administrators of the installation reach this organization. Add a user with the role owner, who then
              adds the others.
            </Empty>
          }
        />
      )}
      {doing?.what === 'add' && <AddMember organization={organization} members={members} close={close} />}
      {doing?.what === 'change' && (
        <ChangeRole organization={organization} members={members} member={doing.member} close={close} />
      )}
      {doing?.what === 'remove' && (
        <Remove organization={organization} members={members} member={doing.member} close={close} />
      )}
    </Part>
  )
}

function Remove({
  organization,
  members,
  member,
  close,
}: {
  organization: string
  members: Member[]
  member: Member
  close: () => void
}) {
  const me = useMe()
  const client = useQueryClient()
  const tell = useTell()
  const name = member.user ?? member.group ?? member.id
  const run = async () => {
    const path = { organization, member: member.id }
    await ok(api.DELETE('/api/v1/organizations/{organization}/members/{member}', { params: { path } }))
    tell(`${name} no longer belongs to ${organization}`)
    if (member.user === me.name) void client.invalidateQueries({ queryKey: ['me'] })
    await client.invalidateQueries({ queryKey: ['organizations'] })
  }
  return (
    <FormDialog isDanger title={`Remove ${name} from ${organization}?`} act="Remove member" run={run} close={close}>
      <p>
        {member.group ? 'Members of the group lose' : `${name} loses`} the role {member.role} in {organization} within
        five seconds, unless a group or another entry gives it. Credentials for clusters that were issued before last
        until they expire, an hour usually. What was created stays.
      </p>
      {member.user === me.name && (
        <p>
          <strong>This is you.</strong> You cannot add yourself again.
        </p>
      )}
      {isLastOwner(members, member) && (
        <p>
          <strong>This is the last owner.</strong> Only administrators of the installation can change the organization
          afterwards.
        </p>
      )}
    </FormDialog>
  )
}
