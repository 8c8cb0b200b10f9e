import { ExpandableSection, FormSection, Grid } from '@patternfly/react-core'
import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import { emptyPool, faultsOf, type PoolForm, poolOf } from '../../logic/nodepool'
import { count } from '../../logic/quantity'
import { shellWord } from '../../logic/shell'
import { ChoiceField, TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { useAskAgain } from './data'
import type { TabProps } from './index'

/** CreatePool asks for a new node pool. */
export function CreatePool({ of, close }: TabProps & { close: () => void }) {
  const [form, setForm] = useState<PoolForm>(emptyPool)
  const text = JSON.stringify(form)
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [text])
  const tell = useTell()
  const askAgain = useAskAgain()
  const faults = faultsOf(form)
  const run = async (dryRun: boolean) => {
    await ok(
      api.POST('/api/v1/organizations/{organization}/nodepools', {
        params: { path: { organization: of.organization }, query: { dryRun }, header: dryRun ? {} : key },
        body: poolOf(form, of.cluster),
      }),
    )
    if (!dryRun) {
      tell(`Node pool ${form.name} is being created`)
      askAgain()
    }
    return `Node pool ${form.name} with ${count(Number(form.nodes), 'node')} would be created.`
  }
  const field = (name: keyof PoolForm, label: string, help?: string, lines = false) => (
    <TextField
      label={label}
      help={help}
      lines={lines}
      value={form[name]}
      onChange={(value) => setForm({ ...form, [name]: value })}
      // What was not touched yet is not wrong yet.
      error={form[name] === '' ? undefined : faults[name]}
      required={name === 'name' || name === 'nodes'}
    />
  )
  return (
    <FormDialog
      title="Create a node pool"
      about={`Nodes of the cluster ${of.cluster} that are alike.`}
      act="Create"
      check={{ of: text }}
      run={run}
      isIncomplete={Object.keys(faults).length > 0}
      close={close}
    >
      {field('name', 'Name')}
      <ChoiceField
        label="Provider"
        value={form.provider}
        onChange={(value) => setForm({ ...form, provider: value as PoolForm['provider'] })}
        choices={[
          { value: 'local', text: 'local: KQueen creates the machines on its host' },
          { value: 'manual', text: 'manual: you bring the machines' },
        ]}
        help={
          form.provider === 'manual' &&
          `Then let each machine join: kqueen node join-command --pool ${shellWord(form.name || 'NAME')} --org ${shellWord(of.organization)}`
        }
      />
      <ChoiceField
        label="Number of nodes"
        value={form.scaledBy}
        onChange={(value) => setForm({ ...form, scaledBy: value as PoolForm['scaledBy'] })}
        choices={[
          { value: 'users', text: 'Users say how many there are' },
          { value: 'pods', text: 'As many as the pods of the cluster need' },
        ]}
        help={
          faults.scaledBy ?? (form.scaledBy === 'pods' && (faults.max ?? 'From the minimum, or 0, to the maximum.'))
        }
      />
      <Grid hasGutter md={4}>
        {field('nodes', form.scaledBy === 'pods' ? 'Nodes at first' : 'Nodes')}
        {field('min', 'Minimum', 'Bound for scaling.')}
        {field('max', 'Maximum', 'Bound for scaling.')}
      </Grid>
      <ExpandableSection toggleText="Size, labels and taints">
        <FormSection>
          <Grid hasGutter md={4}>
            {field('cpu', 'CPU of a node', 'Such as 2 or 500m; empty: all of the host’s.')}
            {field('memory', 'Memory of a node', 'Such as 4Gi; empty: all of the host’s.')}
            {field('volumes', 'Volumes of a node', 'Such as 50Gi; empty: what the disk has.')}
          </Grid>
          {field('labels', 'Labels of the nodes', 'One a line, as key=value.', true)}
          {field('taints', 'Taints of the nodes', 'One a line, as gpu=yes:NoSchedule.', true)}
        </FormSection>
      </ExpandableSection>
    </FormDialog>
  )
}
