import { FormGroup } from '@patternfly/react-core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { noQuota, quotaErrors, quotaFlags, quotaPatch } from '../../logic/quota'
import { shellWord } from '../../logic/shell'
import { CheckField, ChoiceField, TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { Copied } from '../../ui/fromcli'
import { useTell } from '../../ui/toasts'
import { QuotaFields } from './quotafields'
import { createOrganization, type Spec } from './requests'

const levels = [
  { value: '', text: 'baseline (as usual)' },
  { value: 'privileged', text: 'privileged: clusters may have any level' },
  { value: 'restricted', text: 'restricted: nothing weaker' },
]

const goodName = /^[a-z]([-a-z0-9]*[a-z0-9])?$/

/** CreateOrganization asks an administrator for a new organization. */
export function CreateOrganization({ close }: { close: () => void }) {
  const client = useQueryClient()
  const tell = useTell()
  const [name, setName] = useState('')
  const [displayName, setDisplayName] = useState('')
  const [owner, setOwner] = useState('')
  const [local, setLocal] = useState(false)
  const [manual, setManual] = useState(true)
  const [podSecurity, setPodSecurity] = useState('')
  const [quota, setQuota] = useState(noQuota)
  const nameIsBad = name !== '' && (!goodName.test(name) || name.length > 40)
  const machineProviders = [...(local ? ['local' as const] : []), ...(manual ? ['manual' as const] : [])]
  const spec: Spec = {
    ...(displayName && { displayName }),
    ...(owner && { members: [{ user: owner.trim(), role: 'owner' as const }] }),
    ...(machineProviders.length > 0 && { machineProviders }),
    ...(podSecurity && { podSecurity: podSecurity as Spec['podSecurity'] }),
    ...(quotaPatch(noQuota, quota) && { quota: quotaPatch(noQuota, quota) as Spec['quota'] }),
  }
  const command = [
    `kqueen organization create ${shellWord(name || 'NAME')}`,
    ...(displayName ? [`--display-name ${shellWord(displayName)}`] : []),
    ...(machineProviders.length > 0 ? [`--machine-provider ${machineProviders.join(',')}`] : []),
    ...(podSecurity ? [`--pod-security ${podSecurity}`] : []),
    ...quotaFlags(noQuota, quota),
  ].join(' ')
  const run = async () => {
    await createOrganization({ name, spec })
    tell(`Organization ${name} was created`)
    void client.invalidateQueries({ queryKey: ['me'] })
    await client.invalidateQueries({ queryKey: ['organizations'] })
  }
  return (
    <FormDialog
      isLarge
      title="Create organization"
      about="A tenant with a namespace of its own. What it may use can be changed later; its name cannot."
      act="Create organization"
      isIncomplete={!name || nameIsBad || Object.keys(quotaErrors(quota)).length > 0}
      run={run}
      close={close}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        maxLength={40}
        error={
          nameIsBad
            ? 'At most 40 lower-case letters, digits and "-", beginning with a letter and ending with a letter or digit.'
            : undefined
        }
        help="Part of the name of every API server of the organization. It cannot be changed."
      />
      <TextField label="Display name" value={displayName} onChange={setDisplayName} maxLength={100} />
      <TextField
        label="First owner"
        value={owner}
        onChange={setOwner}
        maxLength={256}
        help="A name that signs in, such as alice or corp:alice@example.com. You can add members later, too."
      />
      <FormGroup role="group" label="Machine providers" fieldId="machine-providers">
        <CheckField label="manual: users join machines of their own" value={manual} onChange={setManual} />
        <CheckField
          label="local: machines on the host of KQueen"
          help="They share its kernel. Choose it for organizations that you trust."
          value={local}
          onChange={setLocal}
        />
      </FormGroup>
      <ChoiceField label="Weakest Pod Security level" value={podSecurity} onChange={setPodSecurity} choices={levels} />
      <QuotaFields form={quota} set={setQuota} />
      <FormGroup label="The same from the command line" role="group" fieldId="as-command">
        <Copied text={command} />
      </FormGroup>
    </FormDialog>
  )
}
