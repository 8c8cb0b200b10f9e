import { ActionGroup, Button, Checkbox, Form, FormGroup, FormSection, Grid, Radio } from '@patternfly/react-core'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/client'
import { isReady, useProvisioners } from '../../app/catalogue'
import { useUrlState } from '../../app/urlstate'
import { nameProblem } from '../../logic/clusterchecks'
import { namespaceOf, systemNamespace } from '../../logic/clusterdocument'
import type { Reduced } from '../../logic/kubeconfig'
import { ChoiceField, idOf, TextField } from '../../ui/field'
import { ProblemAlert } from '../../ui/problem'
import { type Adopted, byAgent, byKubeconfig } from './adopt'
import { KubeconfigFields } from './kubeconfigfields'

interface AdoptFormProps {
  organizations: string[]
  first: string
  done: (adopted: Adopted) => void
}

/** AdoptForm asks for what a cluster is adopted by. What is secret in it is in no URL and is not kept. */
export function AdoptForm({ organizations, first, done }: AdoptFormProps) {
  const [state, set] = useUrlState()
  const way = state.tab === 'agent' ? 'agent' : 'kubeconfig'
  const [organization, setOrganization] = useState(first)
  const [name, setName] = useState('')
  const [provisioner, setProvisioner] = useState('')
  const [reduced, setReduced] = useState<Reduced>()
  const [force, setForce] = useState(false)
  const [members, setMembers] = useState(true)
  const [image, setImage] = useState('')
  const [tried, setTried] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const client = useQueryClient()
  const choices = useImporters(organization)
  const chosen = provisioner || choices[0]?.value || `${systemNamespace}/imported`
  const wrong = nameProblem(name, 40)
  const fields = error instanceof ApiError ? error.fields : {}

  const go = async () => {
    setTried(true)
    setError(undefined)
    if (wrong) return document.getElementById(idOf('/name'))?.focus()
    if (way === 'kubeconfig' && !reduced) return document.getElementById(idOf('/kubeconfig'))?.focus()
    const [namespace = systemNamespace, imported = 'imported'] = chosen.split('/')
    const place = { organization, name, provisioner: { name: imported, namespace } }
    setBusy(true)
    try {
      const made = await (way === 'agent'
        ? byAgent(place, members, image.trim())
        : byKubeconfig(place, reduced?.kubeconfig ?? '', force))
      done(made)
    } catch (e) {
      setError(e)
    }
    setBusy(false)
    void client.invalidateQueries({ queryKey: ['clusters'] })
  }

  return (
    <Form
      aria-label="Import"
      noValidate
      isWidthLimited
      maxWidth="60rem"
      onSubmit={(event) => {
        event.preventDefault()
        void go()
      }}
    >
      <FormSection title="Cluster" titleElement="h2">
        <Grid hasGutter md={6}>
          <ChoiceField
            pointer="/organization"
            label="Organization"
            required
            value={organization}
            choices={organizations.map((one) => ({ value: one, text: one }))}
            onChange={setOrganization}
            help="Those where you are operator or owner."
          />
          <TextField
            pointer="/name"
            label="Name"
            required
            value={name}
            onChange={setName}
            error={(tried ? wrong : undefined) ?? fields['/name']}
            help="As it is called here: at most 40 lower-case letters, digits and -. An imported cluster of that name gets new credentials."
          />
          {choices.length > 1 && (
            <ChoiceField
              pointer="/provisioner"
              label="Provisioner"
              value={chosen}
              choices={choices}
              onChange={setProvisioner}
            />
          )}
        </Grid>
      </FormSection>
      <FormGroup role="radiogroup" isStack fieldId="way" label="How KQueen reaches it">
        <Radio
          id="way-kubeconfig"
          name="way"
          label="By a kubeconfig"
          description="KQueen calls its API server, which has to be reachable from KQueen."
          isChecked={way === 'kubeconfig'}
          onChange={() => set({ tab: undefined })}
        />
        <Radio
          id="way-agent"
          name="way"
          label="By an agent in it"
          description="The agent dials KQueen: for clusters behind NAT or a firewall. No way in is needed."
          isChecked={way === 'agent'}
          onChange={() => set({ tab: 'agent' })}
        />
      </FormGroup>
      {way === 'kubeconfig' ? (
        <FormSection>
          <KubeconfigFields setReduced={setReduced} missing={tried && !reduced} error={fields['/kubeconfig']} />
          <Checkbox
            id="force"
            label="Store it also when the cluster refuses it or does not answer"
            isChecked={force}
            onChange={(_, is) => setForce(is)}
          />
        </FormSection>
      ) : (
        <FormSection title="Agent" titleElement="h2">
          <Checkbox
            id="members"
            label="Let the members of the organization enter the cluster through KQueen"
            description="The agent may then act as them, in groups that are bound to the roles view, edit and cluster-admin."
            isChecked={members}
            onChange={(_, is) => setMembers(is)}
          />
          <TextField
            pointer="/image"
            label="Image of the agent"
            value={image}
            onChange={setImage}
            error={fields['/image']}
            placeholder="registry.example/kqueen-agent:0.1.0"
            help="One that the nodes of the cluster can pull. Empty: that of the installation."
          />
        </FormSection>
      )}
      <ProblemAlert error={error} title="The cluster was not imported" />
      <ActionGroup>
        <Button type="submit" isLoading={busy} isDisabled={busy}>
          {way === 'agent' ? 'Get the command' : 'Import'}
        </Button>
        <Button
          variant="link"
          component={(props) => <Link {...props} to="/clusters" search={(b) => ({ org: b.org })} />}
        >
          Cancel
        </Button>
      </ActionGroup>
    </Form>
  )
}

/** useImporters are the provisioners of imported clusters, the shared one first. */
function useImporters(organization: string) {
  const all = useProvisioners(organization) ?? []
  return all
    .filter((one) => one.spec?.driver === 'imported' && isReady(one))
    .map((one) => ({
      value: `${one.organization ? namespaceOf(one.organization) : systemNamespace}/${one.name}`,
      text: one.organization ? one.name : `${one.name} (shared)`,
    }))
}
