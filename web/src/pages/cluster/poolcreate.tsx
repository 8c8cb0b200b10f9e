import {
  ExpandableSection,
  Form,
  FormGroup,
  FormHelperText,
  FormSelect,
  FormSelectOption,
  Grid,
  HelperText,
  HelperTextItem,
  Stack,
  TextArea,
  TextInput,
} from '@patternfly/react-core'
import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import { emptyPool, faultsOf, type PoolForm, poolOf } from '../../logic/nodepool'
import { count } from '../../logic/quantity'
import { useTell } from '../../ui/toasts'
import { useAskAgain } from './data'
import { Dialog } from './dialog'
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
    <Field form={form} set={setForm} fault={faults[name]} name={name} label={label} help={help} lines={lines} />
  )
  return (
    <Dialog
      title="Create a node pool"
      about={`Nodes of the cluster ${of.cluster} that are alike.`}
      act="Create"
      chosen={text}
      run={run}
      isDisabled={Object.keys(faults).length > 0}
      close={close}
    >
      <Form onSubmit={(event) => event.preventDefault()}>
        {field('name', 'Name')}
        <FormGroup label="Provider" fieldId="pool-provider">
          <FormSelect
            id="pool-provider"
            value={form.provider}
            onChange={(_, value) => setForm({ ...form, provider: value as PoolForm['provider'] })}
          >
            <FormSelectOption value="local" label="local: KQueen creates the machines on its host" />
            <FormSelectOption value="manual" label="manual: you bring the machines" />
          </FormSelect>
          {form.provider === 'manual' && (
            <Help
              text={`Then let each machine join: kqueen node join-command --pool ${form.name || 'NAME'} --org ${of.organization}`}
            />
          )}
        </FormGroup>
        <Grid hasGutter md={4}>
          {field('nodes', 'Nodes')}
          {field('min', 'Minimum', 'Bound for scaling.')}
          {field('max', 'Maximum', 'Bound for scaling.')}
        </Grid>
        <ExpandableSection toggleText="Size, labels and taints">
          <Stack hasGutter>
            {' '}
            <Grid hasGutter md={4}>
              {field('cpu', 'CPU of a node', 'Such as 2 or 500m; empty: all of the host’s.')}
              {field('memory', 'Memory of a node', 'Such as 4Gi; empty: all of the host’s.')}
              {field('volumes', 'Volumes of a node', 'Such as 50Gi; empty: what the disk has.')}
            </Grid>
            {field('labels', 'Labels of the nodes', 'One a line, as key=value.', true)}
            {field('taints', 'Taints of the nodes', 'One a line, as gpu=yes:NoSchedule.', true)}
          </Stack>{' '}
        </ExpandableSection>
      </Form>
    </Dialog>
  )
}

interface FieldProps {
  form: PoolForm
  set: (form: PoolForm) => void
  fault?: string
  name: keyof PoolForm
  label: string
  help?: string
  lines: boolean
}

function Field({ form, set, fault, name, label, help, lines }: FieldProps) {
  // What was not touched yet is not wrong yet.
  const shown = form[name] !== '' ? fault : undefined
  const shared = {
    id: `pool-${name}`,
    value: form[name],
    validated: shown ? ('error' as const) : ('default' as const),
    onChange: (_: unknown, value: string) => set({ ...form, [name]: value }),
    spellCheck: false,
    autoComplete: 'off',
    'aria-describedby': `pool-${name}-help`,
  }
  return (
    <FormGroup label={label} fieldId={shared.id} isRequired={name === 'name' || name === 'nodes'}>
      {lines ? <TextArea {...shared} rows={2} resizeOrientation="vertical" /> : <TextInput {...shared} />}
      <Help id={`pool-${name}-help`} text={shown ?? help ?? ''} bad={shown !== undefined} />
    </FormGroup>
  )
}

function Help({ text, bad, id }: { text: string; bad?: boolean; id?: string }) {
  return (
    <FormHelperText>
      <HelperText id={id}>
        <HelperTextItem variant={bad ? 'error' : 'default'} className="kq-wrap">
          {text}
        </HelperTextItem>
      </HelperText>
    </FormHelperText>
  )
}
