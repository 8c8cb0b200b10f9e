import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { useMe } from '../../app/queries'
import { isRaise, type Member, type MemberKind, mayLoseOwner, memberError, memberId } from '../../logic/members'
import type { Role } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { ChoiceField, TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { Copied } from '../../ui/fromcli'
import { RoleField } from '../../ui/rolefield'
import { useTell } from '../../ui/toasts'

function useSetRole(organization: string) {
  const client = useQueryClient()
  return async (member: string, role: Role) => {
    await ok(
      api.PUT('/api/v1/organizations/{organization}/members/{member}', {
        params: { path: { organization, member } },
        body: { role },
      }),
    )
    await client.invalidateQueries({ queryKey: ['organizations'] })
  }
}

const kinds = [
  { value: 'user', text: 'User' },
  { value: 'group', text: 'Group of an identity provider' },
]

export function AddMember({
  organization,
  members,
  close,
}: {
  organization: string
  members: Member[]
  close: () => void
}) {
  const tell = useTell()
  const setRole = useSetRole(organization)
  const [kind, setKind] = useState<MemberKind>('user')
  const [name, setName] = useState('')
  const [role, chooseRole] = useState<Role>('viewer')
  const error = memberError(kind, name, members)
  const run = async () => {
    await setRole(memberId(kind, name), role)
    tell(`${name.trim()} is ${role} of ${organization}`)
  }
  return (
    <FormDialog
      title={`Add a member to ${organization}`}
      act="Add member"
      isIncomplete={!!error}
      run={run}
      close={close}
    >
      <ChoiceField label="Kind" value={kind} onChange={(k) => setKind(k as MemberKind)} choices={kinds} />
      <TextField
        label={kind === 'user' ? 'User' : 'Group'}
        value={name}
        onChange={setName}
        required
        maxLength={256}
        error={name ? error : undefined}
        help={
          kind === 'user'
            ? 'A name that signs in: alice, or corp:alice@example.com for a user of the identity provider corp. The user need not have signed in yet.'
            : 'As the identity provider names it, with the provider before it: corp:payments-developers.'
        }
      />
      <RoleField value={role} onChange={chooseRole} />
      <p className="kq-small kq-quiet">The same from the command line:</p>
      <Copied
        text={`kqueen member set ${shellWord(memberId(kind, name || 'NAME'))} --role ${role} --org ${shellWord(organization)}`}
      />
    </FormDialog>
  )
}

export function ChangeRole({
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
  const setRole = useSetRole(organization)
  const [role, chooseRole] = useState(member.role as Role)
  const name = member.user ?? member.group ?? member.id
  const lowering = !isRaise(member.role as Role, role) && role !== member.role
  const loses = lowering && member.role === 'owner' ? mayLoseOwner(me, organization, members, member) : undefined
  const run = async () => {
    await setRole(member.id, role)
    tell(`${name} is now ${role} of ${organization}`)
    if (member.user === me.name) void client.invalidateQueries({ queryKey: ['me'] })
  }
  return (
    <FormDialog
      title={`Role of ${name}`}
      about={`Now ${member.role} of ${organization}.`}
      act="Change role"
      isIncomplete={role === member.role || loses?.allowed === false}
      run={run}
      close={close}
    >
      <RoleField value={role} onChange={chooseRole} />
      {loses?.why && <p role="alert">{loses.why}</p>}
      {lowering && member.user === me.name && <p>This is you: you cannot take it back yourself.</p>}
      <p className="kq-small kq-quiet">The same from the command line:</p>
      <Copied text={`kqueen member set ${shellWord(member.id)} --role ${role} --org ${shellWord(organization)}`} />
    </FormDialog>
  )
}
