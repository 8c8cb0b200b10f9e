import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import type { Backup } from '../../api/objects'
import { included, includeFault, longestName, nameFault, proposedName } from '../../logic/backup'
import { Age } from '../../ui/age'
import { TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { type Of, useAskAgain } from './data'

interface DialogProps {
  of: Of
  backup: Backup
  /** Names that are taken. */
  names: readonly string[]
  /** It is created, and goes on under this name. */
  done: (name: string) => void
  close: () => void
}

/** useNew creates a Restore, under a name that is proposed and can be changed. */
function useNew({ of, backup, names }: DialogProps, begin: string, compareOnly: boolean) {
  const [taken] = useState(names)
  const [name, setName] = useState(() => proposedName(`${begin}-${backup.name}`, names, new Date()))
  const [only, setOnly] = useState('')
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [name, only])
  const askAgain = useAskAgain()
  const create = async () => {
    await ok(
      api.POST('/api/v1/organizations/{organization}/restores', {
        params: { path: { organization: of.organization }, header: key },
        body: { name, spec: { backupName: backup.name, compareOnly, include: included(only) } },
      }),
    )
    askAgain()
  }
  const fault = nameFault(name, taken)
  const onlyFault = includeFault(only)
  const field = (label: string) => (
    <>
      <TextField label={label} value={name} onChange={setName} error={fault} maxLength={longestName} required />
      <TextField
        label="Only these objects"
        value={only}
        onChange={setOnly}
        error={onlyFault}
        placeholder={'Secret/shop/key\nNamespace/payments'}
        lines
        help="One in a line: KIND/NAMESPACE/NAME, KIND/NAME, or Namespace/NAME for all in it; * is all names. Empty for everything."
      />
    </>
  )
  return { name, fault: fault ?? onlyFault, field, create }
}

/** Compare asks what a restore to a backup would change. */
export function Compare(props: DialogProps) {
  const { of, backup, done, close } = props
  const { name, fault, field, create } = useNew(props, 'compare', true)
  return (
    <FormDialog
      title={`Compare with backup ${backup.name}`}
      about={`What a restore would change in cluster ${of.cluster}. Nothing is changed or stopped for it.`}
      act="Compare"
      isIncomplete={fault !== undefined}
      run={create}
      done={() => done(name)}
      close={close}
    >
      {field('Name of the comparison')}
    </FormDialog>
  )
}

/** RestoreTo brings a cluster back to a backup, once its name was typed. */
export function RestoreTo(props: DialogProps) {
  const { of, backup, done, close } = props
  const { name, fault, field, create } = useNew(props, 'restore', false)
  const tell = useTell()
  const run = async () => {
    await create()
    tell(`Cluster ${of.cluster} is being restored to backup ${backup.name}`)
  }
  return (
    <FormDialog
      isDanger
      title={`Restore cluster ${of.cluster} to backup ${backup.name}?`}
      act="Restore the cluster"
      typed={of.cluster}
      isIncomplete={fault !== undefined}
      run={run}
      done={() => done(name)}
      close={close}
    >
      <p>
        What was written to the cluster’s API since the backup was taken (<Age at={backup.status?.takenTime} />) is
        lost: objects that were created since are removed, and those that were changed or deleted are as they were.
      </p>
      <ul className="pf-v6-c-list">
        <li>The API server stops meanwhile: nobody can change or look at the cluster. Pods go on.</li>
        <li>The state before is backed up first; restore that backup to undo this one.</li>
        <li>Volumes, nodes, node pools and events stay as they are now.</li>
      </ul>
      <p>Compare first to see which objects that are.</p>
      {field('Name of the restore')}
    </FormDialog>
  )
}
