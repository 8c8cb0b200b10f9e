import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import type { Backup } from '../../api/objects'
import { useReleases } from '../../app/catalogue'
import {
  clusterNameFault,
  included,
  includeFault,
  longestName,
  nameFault,
  proposedName,
  versionsFor,
} from '../../logic/backup'
import { Age } from '../../ui/age'
import { CheckField, ChoiceField, TextField } from '../../ui/field'
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

/** RestoreAs makes a new cluster of a backup, or asks what it would get. */
export function RestoreAs(props: DialogProps) {
  const { of, backup, names, done, close } = props
  const [taken] = useState(names)
  const [name, setName] = useState(() => proposedName(`new-${backup.name}`, names, new Date()))
  const [cluster, setCluster] = useState(`${of.cluster.slice(0, 34)}-again`)
  const [version, setVersion] = useState('')
  const [compareOnly, setCompareOnly] = useState(false)
  const releases = useReleases() ?? []
  const text = JSON.stringify([name, cluster, version, compareOnly])
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [text])
  const tell = useTell()
  const askAgain = useAskAgain()
  const fault = nameFault(name, taken)
  const clusterFault =
    cluster === of.cluster ? 'That is the cluster itself: restore it in place instead.' : clusterNameFault(cluster)
  const run = async () => {
    const spec = {
      backupName: backup.name,
      newClusterName: cluster,
      ...(version && { newClusterVersion: version }),
      ...(compareOnly && { compareOnly }),
    }
    await ok(
      api.POST('/api/v1/organizations/{organization}/restores', {
        params: { path: { organization: of.organization }, header: key },
        body: { name, spec },
      }),
    )
    if (!compareOnly) tell(`Cluster ${cluster} is being created of backup ${backup.name}`)
    askAgain()
  }
  return (
    <FormDialog
      isLarge
      title={`Restore backup ${backup.name} as a new cluster`}
      about={`Cluster ${of.cluster} goes on as it is. The new one counts in the quota as any other.`}
      act={compareOnly ? 'See what it would get' : 'Create the cluster'}
      isIncomplete={fault !== undefined || clusterFault !== undefined}
      run={run}
      done={() => done(name)}
      close={close}
    >
      <TextField
        label="Name of the new cluster"
        value={cluster}
        onChange={setCluster}
        error={clusterFault}
        maxLength={40}
        required
      />
      <ChoiceField
        label="Version of Kubernetes"
        value={version}
        onChange={setVersion}
        choices={[
          { value: '', text: `That of the backup${backup.status?.version ? ` (${backup.status.version})` : ''}` },
          ...versionsFor(backup, releases)
            .filter((one) => one !== backup.status?.version)
            .map((one) => ({ value: one, text: one })),
        ]}
      />
      <CheckField
        label="Only say what it would get, and whether it could be created"
        value={compareOnly}
        onChange={setCompareOnly}
      />
      <ul className="pf-v6-c-list">
        <li>It has authorities, keys, an endpoint and kubeconfigs of its own: those of {of.cluster} do not fit it.</li>
        <li>It has no nodes: node pools, labels and schedules of backups are not created. Add nodes afterwards.</li>
        <li>Claims get new, empty volumes, but for volumes that are retained: these are the same in both.</li>
        <li>What runs in it runs twice: its CronJobs, operators and webhooks act as those of the other cluster do.</li>
      </ul>
      <TextField
        label="Name of the restore"
        value={name}
        onChange={setName}
        error={fault}
        maxLength={longestName}
        required
      />
    </FormDialog>
  )
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
        <li>Nothing else is written meanwhile, and what is read may be half of each state. Pods go on.</li>
        <li>The state before is backed up first; restore that backup to undo this one.</li>
        <li>Volumes, nodes, node pools and events stay as they are now.</li>
      </ul>
      <p>Compare first to see which objects that are.</p>
      {field('Name of the restore')}
    </FormDialog>
  )
}
