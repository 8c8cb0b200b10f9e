import { useState } from 'react'
import { api, idempotencyKey, ok, type Schemas } from '../../api/client'
import type { Role } from '../../logic/roles'
import { TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { RoleField } from '../../ui/rolefield'
import { useTell } from '../../ui/toasts'
import type { Account } from './accounts'

export type Doing = { what: 'create' } | { what: 'role' | 'enable' | 'disable' | 'delete'; account: Account }

interface Props {
  organization: string
  doing: Doing
  changed: () => Promise<unknown>
  close: () => void
}

const one = '/api/v1/organizations/{organization}/serviceaccounts/{serviceAccount}'

/** AccountDialogs asks for what is done with a service account, and does it. */
export function AccountDialogs({ organization, doing, changed, close }: Props) {
  const tell = useTell()
  const done = async (text: string) => {
    tell(text)
    await changed()
  }
  if (doing.what === 'create') return <Create organization={organization} done={done} close={close} />
  const { account } = doing
  const params = { path: { organization, serviceAccount: account.name } }
  const change = (body: Schemas['ServiceAccountChange']) => ok(api.PATCH(one, { params, body }))
  switch (doing.what) {
    case 'role':
      return (
        <ChangeRole
          account={account}
          run={async (role) => {
            await change({ role })
            await done(`${account.name} is now ${role}`)
          }}
          close={close}
        />
      )
    case 'enable':
      return (
        <FormDialog
          title={`Enable ${account.name}?`}
          act="Enable"
          close={close}
          run={async () => {
            await change({ disabled: false })
            await done(`${account.name} is enabled`)
          }}
        >
          <p>Its tokens that have not expired and were not revoked work again at once.</p>
        </FormDialog>
      )
    case 'disable':
      return (
        <FormDialog
          isDanger
          title={`Disable ${account.name}?`}
          act="Disable"
          close={close}
          run={async () => {
            await change({ disabled: true })
            await done(`${account.name} is disabled`)
          }}
        >
          <p>Requests with its tokens are refused from the next one on. You can enable it again.</p>
        </FormDialog>
      )
  }
  return (
    <FormDialog
      isDanger
      title={`Delete ${account.name}?`}
      act="Delete service account"
      typed={account.name}
      close={close}
      run={async () => {
        await ok(api.DELETE(one, { params }))
        await done(`${account.name} was deleted`)
      }}
    >
      <p>
        All its tokens end at once, and programs that use them are refused. This cannot be undone. What it created
        stays.
      </p>
    </FormDialog>
  )
}

function ChangeRole({
  account,
  run,
  close,
}: {
  account: Account
  run: (role: Role) => Promise<void>
  close: () => void
}) {
  const [role, setRole] = useState(account.role as Role)
  return (
    <FormDialog
      title={`Role of ${account.name}`}
      about={`Now ${account.role}. Its tokens have the new role at once.`}
      act="Change role"
      isIncomplete={role === account.role}
      run={() => run(role)}
      close={close}
    >
      <RoleField value={role} onChange={setRole} />
    </FormDialog>
  )
}

function Create({
  organization,
  done,
  close,
}: {
  organization: string
  done: (text: string) => Promise<void>
  close: () => void
}) {
  const [name, setName] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [role, setRole] = useState<Role>('viewer')
  const run = async () => {
    await ok(
      api.POST('/api/v1/organizations/{organization}/serviceaccounts', {
        params: { path: { organization }, header: idempotencyKey() },
        body: { name, role, ...(displayName && { displayName }) },
      }),
    )
    await done(`${name} was created. It needs a token to be of use.`)
  }
  return (
    <FormDialog
      title={`Create a service account in ${organization}`}
      act="Create service account"
      isIncomplete={!name}
      run={run}
      close={close}
    >
      <TextField label="Name" value={name} onChange={setName} required maxLength={40} help="Such as ci or terraform." />
      <TextField label="Display name" value={displayName} onChange={setDisplayName} maxLength={100} />
      <RoleField value={role} onChange={setRole} />
    </FormDialog>
  )
}
