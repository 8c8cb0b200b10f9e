import { ExpandableSection, Form, FormSection, Grid } from '@patternfly/react-core'
import { useEffect, useState } from 'react'
import type { Provisioner } from '../../api/objects'
import { isReady, useOperable, useProvisioners, useReleases } from '../../app/catalogue'
import { moved, named, nameOf, namespaceOf, organizationOf, systemNamespace, write } from '../../logic/clusterdocument'
import { formOf } from '../../logic/schemaform'
import { type Choice, ChoiceField, TextField } from '../../ui/field'
import { Addons, Network, Security } from './advanced'
import { useEditing } from './draft'
import { PoolFields } from './pool'
import { SchemaFields } from './schemafields'

/** ClusterForm edits the draft field by field. What it does not know it leaves alone. */
export function ClusterForm({ submit }: { submit: () => void }) {
  const { draft, setDraft, errors, at } = useEditing()
  const organization = organizationOf(draft)
  const { organizations, more } = useOperable()
  const provisioner = useChosenProvisioner()
  const schema = formOf(provisioner?.status?.driver?.clusterParametersSchema)
  return (
    <Form
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      aria-label="Cluster"
      noValidate
    >
      <FormSection title="Cluster" titleElement="h2">
        <Grid hasGutter md={6}>
          <ChoiceField
            {...at('cluster', 'metadata', 'namespace')}
            label="Organization"
            required
            value={organization}
            choices={organizations.map((name) => ({ value: name, text: name }))}
            onChange={(to) => setDraft(moved(draft, to))}
            help={
              more ? 'There are more: choose one at the top of the page.' : 'Those where you are operator or owner.'
            }
          />
          <TextField
            {...at('cluster', 'metadata', 'name')}
            label="Name"
            required
            value={nameOf(draft)}
            onChange={(to) => setDraft(named(draft, to))}
            help="At most 40 lower-case letters, digits and -. It cannot be changed later."
          />
          <ProvisionerField provisioner={provisioner} />
          <VersionField />
        </Grid>
      </FormSection>
      <PoolFields />
      {schema.length > 0 && (
        <FormSection title={`Settings of ${provisioner?.name}`} titleElement="h2">
          <SchemaFields fields={schema} below={['cluster', 'spec', 'parameters']} />
        </FormSection>
      )}
      <Advanced errors={errors} provisioner={provisioner} />
      <input type="submit" hidden />
    </Form>
  )
}

function Advanced({ errors, provisioner }: { errors: Record<string, string>; provisioner?: Provisioner }) {
  const [open, setOpen] = useState(false)
  const wrong = Object.keys(errors).some((pointer) =>
    /^\/cluster\/spec\/(network|cni|podSecurity|auditLog|addons)/.test(pointer),
  )
  useEffect(() => {
    if (wrong) setOpen(true)
  }, [wrong])
  return (
    <ExpandableSection
      toggleText="Advanced: network, security, addons"
      isExpanded={open}
      onToggle={(_, is) => setOpen(is)}
      isIndented
    >
      {open && (
        <>
          <Network />
          <Security provisioner={provisioner} />
          <Addons />
        </>
      )}
    </ExpandableSection>
  )
}

/** useChosenProvisioner is the one that the draft names, if it is known. */
function useChosenProvisioner(): Provisioner | undefined {
  const { draft, at } = useEditing()
  const all = useProvisioners(organizationOf(draft))
  const name = at('cluster', 'spec', 'provisionerRef', 'name').value || 'hosted'
  const namespace = at('cluster', 'spec', 'provisionerRef', 'namespace').value || systemNamespace
  return all?.find(
    (one) => one.name === name && (one.organization ? namespaceOf(one.organization) : systemNamespace) === namespace,
  )
}

function ProvisionerField({ provisioner }: { provisioner?: Provisioner }) {
  const { draft, setDraft, at } = useEditing()
  const all = useProvisioners(organizationOf(draft)) ?? []
  const choices: Choice[] = all
    .filter((one) => one.spec?.driver !== 'imported')
    .map((one) => ({
      value: `${one.organization ? namespaceOf(one.organization) : systemNamespace}/${one.name}`,
      text: `${one.name}${one.organization ? '' : ' (shared)'}${isReady(one) ? '' : ': not ready'}`,
      isDisabled: !isReady(one),
    }))
  const name = at('cluster', 'spec', 'provisionerRef', 'name').value || 'hosted'
  const namespace = at('cluster', 'spec', 'provisionerRef', 'namespace').value || systemNamespace
  return (
    <ChoiceField
      {...at('cluster', 'spec', 'provisionerRef')}
      error={at('cluster', 'spec', 'provisionerRef').error ?? at('cluster', 'spec', 'provisionerRef', 'name').error}
      label="Provisioner"
      required
      value={`${namespace}/${name}`}
      choices={choices}
      onChange={(to) => {
        const [where, what] = to.split('/')
        const kept = write(draft, ['cluster', 'spec', 'parameters'], undefined)
        setDraft(write(kept, ['cluster', 'spec', 'provisionerRef'], { name: what, namespace: where }))
      }}
      help={provisioner?.status?.driver?.summary ?? 'What creates the cluster.'}
    />
  )
}

function VersionField() {
  const { at } = useEditing()
  const releases = useReleases()
  const choices = releases?.map((name, i) => ({ value: name, text: i === 0 ? `${name} (newest)` : name }))
  return (
    <ChoiceField
      {...at('cluster', 'spec', 'version')}
      label="Kubernetes version"
      required
      choices={choices ?? []}
      help={
        releases?.length === 0
          ? 'No release is ready yet. An administrator builds or adds one.'
          : 'It may be raised later, and go back by one minor.'
      }
    />
  )
}
