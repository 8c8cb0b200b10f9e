import { useState } from 'react'
import { api, idempotencyKey, ok, type Schemas } from '../../api/client'
import { useMe } from '../../app/queries'
import { type Role, roles } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { ChoiceField } from '../../ui/field'
import { RoleField } from '../../ui/rolefield'
import { TokenDialog } from '../../ui/tokendialog'

interface Props {
  changed: () => Promise<unknown>
  close: () => void
}

/** CreateToken asks for a token of the user. Unless it is narrowed it may do what the user may. */
export function CreateToken({ changed, close }: Props) {
  const me = useMe()
  const mine = Object.keys(me.roles).sort()
  const [organization, setOrganization] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const has = me.roles[organization] as Role | undefined
  const isHigher = organization !== '' && !me.admin && !!has && roles.indexOf(role) > roles.indexOf(has)
  return (
    <TokenDialog
      about="For a program that acts as you. For one of a team, create a service account of the organization instead."
      example="laptop"
      days={30}
      organization={organization}
      command={['kqueen token create', organization && ` --org ${shellWord(organization)} --role ${role}`]}
      create={async (token) => {
        const body: Schemas['NewToken'] = { ...token, ...(organization && { scope: { organization, role } }) }
        const issued = await ok(api.POST('/api/v1/me/tokens', { params: { header: idempotencyKey() }, body }))
        await changed()
        return issued
      }}
      close={close}
    >
      <ChoiceField
        label="May be used in"
        value={organization}
        onChange={setOrganization}
        choices={[
          { value: '', text: 'all that you may do' },
          ...mine.map((o) => ({ value: o, text: `the organization ${o} alone` })),
        ]}
        help={organization ? undefined : 'A thief of the token may do all that you may. Narrow it where you can.'}
      />
      {organization && <RoleField value={role} onChange={setRole} label="At most as" />}
      {isHigher && <p role="alert">Your role there is {has}: the token will do no more than that.</p>}
    </TokenDialog>
  )
}
