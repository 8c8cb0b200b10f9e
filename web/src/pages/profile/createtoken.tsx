import { useState } from 'react'
import { api, idempotencyKey, ok, type Schemas } from '../../api/client'
import { useMe } from '../../app/queries'
import { expiresAt } from '../../logic/expiry'
import { type Role, roles } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { Copied } from '../../ui/fromcli'
import { ChoiceField, RoleField, TextField } from '../../ui/people/fields'
import { FormDialog } from '../../ui/people/formdialog'
import { LifetimeField } from '../../ui/people/lifetime'

interface Props {
  issued: (i: Schemas['Issued']) => void
  changed: () => Promise<unknown>
  close: () => void
}

/** CreateToken asks for a token of the user. Unless it is narrowed it may do what the user may. */
export function CreateToken({ issued, changed, close }: Props) {
  const me = useMe()
  const mine = Object.keys(me.roles).sort()
  const [name, setName] = useState('')
  const [days, setDays] = useState(30)
  const [organization, setOrganization] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const has = me.roles[organization] as Role | undefined
  const isHigher = organization !== '' && !me.admin && !!has && roles.indexOf(role) > roles.indexOf(has)
  const run = async () => {
    const body: Schemas['NewToken'] = {
      name: name.trim(),
      expiresAt: expiresAt(days, new Date()),
      ...(organization && { scope: { organization, role } }),
    }
    issued(await ok(api.POST('/api/v1/me/tokens', { params: { header: idempotencyKey() }, body })))
    await changed()
  }
  const scope = organization ? ` --org ${organization} --role ${role}` : ''
  return (
    <FormDialog
      title="Create a token"
      about="For a program that acts as you. For one of a team, create a service account of the organization instead."
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
        help="What it is for, such as laptop."
      />
      <LifetimeField days={days} set={setDays} />
      <ChoiceField
        label="May be used in"
        value={organization}
        set={setOrganization}
        options={[
          { value: '', label: 'all that you may do' },
          ...mine.map((o) => ({ value: o, label: `the organization ${o} alone` })),
        ]}
        help={organization ? undefined : 'A thief of the token may do all that you may. Narrow it where you can.'}
      />
      {organization && <RoleField value={role} set={setRole} label="At most as" />}
      {isHigher && <p role="alert">Your role there is {has}: the token will do no more than that.</p>}
      <div>
        <p className="kq-small kq-quiet">The same from the command line:</p>
        <div className="kq-scroll">
          <Copied
            text={`kqueen token create ${shellWord(name.trim() || 'NAME')} --lifetime ${days * 24}h${scope} >token`}
          />
        </div>
      </div>
    </FormDialog>
  )
}
