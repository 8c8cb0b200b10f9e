import { useState } from 'react'
import { api, idempotencyKey, ok, type Schemas } from '../../api/client'
import { CheckField, TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import type { OneTimeFor } from './onetime'
import { UserConfirms } from './userconfirms'
import type { User } from './users'

export type Asking = 'promote' | 'demote' | 'revoke' | 'enable' | 'disable' | 'delete' | 'reset'
export type Doing = { what: 'create' } | { what: 'edit' | Asking; user: User }

interface Props {
  doing: Doing
  show: (once: OneTimeFor) => void
  changed: () => Promise<unknown>
  close: () => void
}

/** UserDialogs asks for what is done with a user, and does it. */
export function UserDialogs({ doing, show, changed, close }: Props) {
  if (doing.what === 'create') return <Create show={show} changed={changed} close={close} />
  if (doing.what === 'edit') return <Edit user={doing.user} changed={changed} close={close} />
  return <UserConfirms what={doing.what} user={doing.user} show={show} changed={changed} close={close} />
}

/** reset makes a one-time token with which a user chooses a password. */
export async function reset(user: string): Promise<OneTimeFor> {
  return { user, token: await ok(api.POST('/api/v1/users/{user}/reset', { params: { path: { user } } })) }
}

function Create({ show, changed, close }: Omit<Props, 'doing'>) {
  const tell = useTell()
  const [name, setName] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [email, setEmail] = useState('')
  const [admin, setAdmin] = useState(false)
  const run = async () => {
    const body: Schemas['NewUser'] = {
      name: name.trim(),
      ...(displayName && { displayName }),
      ...(email && { email }),
      ...(admin && { admin }),
    }
    await ok(api.POST('/api/v1/users', { params: { header: idempotencyKey() }, body }))
    void changed()
    try {
      show(await reset(body.name))
    } catch {
      tell(`${body.name} was created, but got no one-time token. Make one by "Reset password".`, 'danger')
    }
  }
  return (
    <FormDialog
      title="Create user"
      about="You are then shown, once, a link by which the user chooses a password. Roles are given in organizations."
      act="Create user"
      isIncomplete={!name.trim()}
      run={run}
      close={close}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        maxLength={64}
        help="By which the user signs in. It cannot be changed."
      />
      <TextField label="Display name" value={displayName} onChange={setDisplayName} maxLength={100} />
      <TextField label="Email" type="email" value={email} onChange={setEmail} maxLength={254} />
      <CheckField
        label="Administrator of the installation"
        value={admin}
        onChange={setAdmin}
        help="May do everything in every organization."
      />
    </FormDialog>
  )
}

function Edit({ user, changed, close }: { user: User; changed: () => Promise<unknown>; close: () => void }) {
  const tell = useTell()
  const [displayName, setDisplayName] = useState(user.displayName ?? '')
  const [email, setEmail] = useState(user.email ?? '')
  const run = async () => {
    const params = { path: { user: user.name } }
    await ok(api.PATCH('/api/v1/users/{user}', { params, body: { displayName, email } }))
    tell(`${user.name} was changed`)
    await changed()
  }
  return (
    <FormDialog title={`Names of ${user.name}`} act="Save" run={run} close={close}>
      <TextField label="Display name" value={displayName} onChange={setDisplayName} maxLength={100} />
      <TextField label="Email" type="email" value={email} onChange={setEmail} maxLength={254} />
    </FormDialog>
  )
}
