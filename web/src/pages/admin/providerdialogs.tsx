import { FormGroup } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, idempotencyKey, ok, type Schemas, withTag } from '../../api/client'
import { type Editable, fromYaml, toYaml } from '../../logic/yamlspec'
import { TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { Copied } from '../../ui/fromcli'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { Yaml } from '../../ui/yaml'
import type { Provider } from './identityproviders'

interface Of {
  provider: Provider
  changed: () => Promise<unknown>
  close: () => void
}

const template = `spec:
  displayName: Example Corporation
  issuer: https://login.example.com/realms/corp   # exactly as its tokens have it; cannot be changed
  clientID: kqueen
  scopes: [profile, email, groups]
  usernameClaim: email
  groupsClaim: groups
  # adminGroups: [platform-team]   # their members administer the installation
  # publicClient: true             # the client has no secret
  # caBundle: |                    # who signs the issuer's certificate, if the system does not trust it
  #   -----BEGIN CERTIFICATE-----
`

const one = '/api/v1/identityproviders/{identityProvider}'
const keys = ['labels', 'annotations', 'spec']

/** EditProvider creates an identity provider, or changes the one that is given. */
export function EditProvider({ provider, changed, close }: Omit<Of, 'provider'> & { provider?: Provider }) {
  const tell = useTell()
  const [name, setName] = useState('')
  const [typed, setTyped] = useState<string>()
  const [path] = useState({ identityProvider: provider?.name ?? '' })
  // What is edited is read once, with its ETag: changes of others are refused, not overwritten.
  const [key] = useState(() => ['identityproviders', 'one', path.identityProvider, Date.now()])
  const read = useQuery({
    queryKey: key,
    queryFn: () => withTag(api.GET(one, { params: { path } })),
    enabled: !!provider,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const text = typed ?? (provider ? read.data && toYaml(read.data.object) : template)
  const parsed = fromYaml<Editable>(text ?? '', keys)
  const run = async () => {
    if (!parsed.value) return
    const doc = parsed.value as Schemas['IdentityProviderChange']
    if (provider) {
      const header = { 'If-Match': read.data?.etag ?? '' }
      await ok(api.PUT(one, { params: { path, header }, body: doc }))
    } else {
      const body = { ...doc, name: name.trim() } as Schemas['IdentityProviderInput']
      await ok(api.POST('/api/v1/identityproviders', { params: { header: idempotencyKey() }, body }))
    }
    tell(`The identity provider ${provider?.name ?? name} was ${provider ? 'changed' : 'created'}`)
    await changed()
  }
  const called = provider?.name ?? (name.trim() || 'NAME')
  return (
    <FormDialog
      isLarge
      title={provider ? `Identity provider ${provider.name}` : 'Create identity provider'}
      act={provider ? 'Save' : 'Create identity provider'}
      isIncomplete={!parsed.value || (provider ? typed === undefined || !read.data : !name.trim())}
      run={run}
      close={close}
    >
      {!provider && (
        <TextField
          label="Name"
          value={name}
          onChange={setName}
          required
          maxLength={63}
          help="Stands before the names of its users and groups, as in corp:alice@example.com. It cannot be changed."
        />
      )}
      <div>
        <p>Register this address with the provider, to which browsers come back:</p>
        <Copied text={`${location.origin}/signin/${called}/callback`} />
      </div>
      <ProblemAlert error={read.error} />
      <FormGroup label="Settings" role="group" fieldId="provider-settings">
        {text !== undefined && <Yaml label="Identity provider as YAML" value={text} onChange={setTyped} />}
        {parsed.error && <p role="alert">{parsed.error}</p>}
      </FormGroup>
      {!provider && (
        <p className="kq-small kq-quiet">Set the client secret afterwards. Until then nobody signs in by it.</p>
      )}
    </FormDialog>
  )
}

export function SetSecret({ provider, changed, close }: Of) {
  const tell = useTell()
  const [secret, setSecret] = useState('')
  const run = async () => {
    const params = { path: { identityProvider: provider.name } }
    await ok(api.PUT('/api/v1/identityproviders/{identityProvider}/secret', { params, body: { secret } }))
    tell(`The client secret of ${provider.name} was set`)
    await changed()
  }
  return (
    <FormDialog
      title={`Client secret of ${provider.name}`}
      about="It goes in and does not come out: nobody can read it here. It replaces the one that was set before."
      act="Set secret"
      isIncomplete={!secret}
      run={run}
      close={close}
    >
      <TextField
        label="Client secret"
        type="password"
        value={secret}
        onChange={setSecret}
        required
        maxLength={4096}
        autoComplete="new-password"
        help="As the identity provider shows it for the client."
      />
    </FormDialog>
  )
}

export function RemoveProvider({ provider, changed, close }: Of) {
  const tell = useTell()
  const run = async () => {
    const params = { path: { identityProvider: provider.name }, header: { 'If-Match': '*' } }
    await ok(api.DELETE(one, { params }))
    tell(`The identity provider ${provider.name} is being deleted`)
    await changed()
  }
  return (
    <FormDialog
      isDanger
      title={`Delete the identity provider ${provider.name}?`}
      act="Delete identity provider"
      typed={provider.name}
      run={run}
      close={close}
    >
      <p>
        Nobody signs in by it any more, and sessions and tokens of its users are refused at once. Its client secret is
        deleted. The users stay known: they are the same when the provider comes back with the same name and issuer.
      </p>
      {(provider.spec?.adminGroups?.length ?? 0) > 0 && (
        <p>
          Its groups make administrators. When all administrators came by it, only kqueen user recover, on the machine
          of the installation, lets one in.
        </p>
      )}
    </FormDialog>
  )
}
