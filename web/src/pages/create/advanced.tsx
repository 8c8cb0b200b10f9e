import { FormSection, Grid } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import type { Provisioner } from '../../api/objects'
import { addonsQuery, useOrganization } from '../../app/catalogue'
import { addonChoice, organizationOf, read, withAddon, write } from '../../logic/clusterdocument'
import { ChoiceField, TextField } from '../../ui/field'
import { useEditing } from './draft'

export function Network() {
  const { draft, setDraft, at } = useEditing()
  const sans = read(draft, ['cluster', 'spec', 'network', 'extraSANs'])
  const both = at('cluster', 'spec', 'network').error
  return (
    <FormSection title="Network" titleElement="h3">
      <Grid hasGutter md={6}>
        <TextField
          {...at('cluster', 'spec', 'network', 'podCIDR')}
          error={at('cluster', 'spec', 'network', 'podCIDR').error ?? both}
          label="Range of pods"
          placeholder="10.244.0.0/16"
          help="It cannot be changed later."
        />
        <TextField
          {...at('cluster', 'spec', 'network', 'serviceCIDR')}
          label="Range of Services"
          placeholder="10.96.0.0/16"
          help="It cannot be changed later."
        />
        <TextField
          {...at('cluster', 'spec', 'network', 'dnsDomain')}
          label="DNS domain"
          placeholder="cluster.local"
          help="Suffix of names inside the cluster. It cannot be changed later."
        />
        <ChoiceField
          {...at('cluster', 'spec', 'cni')}
          label="Pod network (CNI)"
          choices={[
            { value: '', text: 'Default (Routes)' },
            { value: 'Routes', text: 'Routes: between machines that KQueen creates' },
            { value: 'Flannel', text: 'Flannel: VXLAN, between machines that reach each other' },
            { value: 'None', text: 'None: you install your own' },
          ]}
          help="It cannot be changed later."
        />
        <TextField
          {...at('cluster', 'spec', 'network', 'extraSANs')}
          label="Further names of the API server"
          lines
          value={Array.isArray(sans) ? sans.join('\n') : ''}
          onChange={(said) =>
            setDraft(
              write(
                draft,
                ['cluster', 'spec', 'network', 'extraSANs'],
                said.trim() === '' ? undefined : said.split('\n'),
              ),
            )
          }
          help="Host names or addresses, one a line."
        />
      </Grid>
    </FormSection>
  )
}

const levels = [
  { value: 'restricted', text: 'restricted: hardened pods alone' },
  { value: 'baseline', text: 'baseline: nothing that leads out of a pod' },
  { value: 'privileged', text: 'privileged: no bounds' },
]

export function Security({ provisioner }: { provisioner?: Provisioner }) {
  const { draft, at } = useEditing()
  const weakest = useOrganization(organizationOf(draft))?.spec?.podSecurity ?? 'baseline'
  const last = levels.findIndex((level) => level.value === weakest)
  const takesLevels = provisioner?.status?.driver?.features?.includes('PodSecurity') ?? true
  const choices = levels.map((level, i) => ({
    ...level,
    isDisabled: i > last,
    text: i > last ? `${level.text} (not for this organization)` : level.text,
  }))
  return (
    <FormSection title="Security" titleElement="h3">
      <Grid hasGutter md={6}>
        {takesLevels && (
          <ChoiceField
            {...at('cluster', 'spec', 'podSecurity')}
            label="Pod Security level"
            choices={[{ value: '', text: 'Default (baseline)' }, ...choices]}
            help="What pods may do, outside of kube-system."
          />
        )}
        <ChoiceField
          {...at('cluster', 'spec', 'auditLog')}
          label="Audit log of the API server"
          choices={[
            { value: '', text: 'Default (Metadata)' },
            { value: 'Metadata', text: 'Metadata: who did what, and when' },
            { value: 'RequestResponse', text: 'RequestResponse: bodies of changes too' },
            { value: 'None', text: 'None' },
          ]}
        />
      </Grid>
    </FormSection>
  )
}

export function Addons() {
  const { draft, setDraft, errors, at } = useEditing()
  const cni = at('cluster', 'spec', 'cni').value || 'Routes'
  const addons = useQuery(addonsQuery).data?.filter((addon) => !addon.cni || addon.cni === cni)
  const listed = read(draft, ['cluster', 'spec', 'addons'])
  const errorOf = (name: string) => {
    const i = Array.isArray(listed) ? listed.findIndex((one) => one?.name === name) : -1
    const found = Object.entries(errors).find(([pointer]) => pointer.startsWith(`/cluster/spec/addons/${i}`))
    return i >= 0 ? found?.[1] : undefined
  }
  return (
    <FormSection title="Addons" titleElement="h3">
      <p className="kq-quiet">
        Default is as the organization, the provisioner and the catalogue say. Values of addons are set in the YAML.
      </p>
      <Grid hasGutter md={6}>
        {addons?.map((addon) => (
          <ChoiceField
            key={addon.name}
            pointer={`/cluster/spec/addons/${addon.name}`}
            label={addon.name}
            error={errorOf(addon.name)}
            value={addonChoice(draft, addon.name)}
            choices={[
              { value: 'default', text: `Default (catalogue: ${addon.default ? 'on' : 'off'})` },
              { value: 'on', text: 'On' },
              { value: 'off', text: 'Off' },
            ]}
            onChange={(to) => setDraft(withAddon(draft, addon.name, to as 'on'))}
            help={`${addon.summary}${addon.version ? `, ${addon.version}` : ''}`}
          />
        ))}
      </Grid>
    </FormSection>
  )
}
