import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import type { Backup } from '../../api/objects'
import { asOf, longestName, momentFault, nameFault, proposedName, size } from '../../logic/backup'
import { TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { type Of, useAskAgain } from './data'

interface DialogProps {
  of: Of
  /** Names that are taken. */
  names: readonly string[]
  close: () => void
}

/** BackUp asks for the name of a new backup, and where it is kept. */
export function BackUp({ of, names, close }: DialogProps) {
  // What is taken is asked once: with the new backup in the list, its own name would be.
  const [taken] = useState(names)
  const [name, setName] = useState(() => proposedName(of.cluster, names, new Date()))
  const [store, setStore] = useState('default')
  const [moment, setMoment] = useState('')
  const text = JSON.stringify([name, store, moment])
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [text])
  const tell = useTell()
  const askAgain = useAskAgain()
  const fault = nameFault(name, taken)
  const faultOfMoment = momentFault(moment, new Date())
  const run = async (dryRun: boolean) => {
    await ok(
      api.POST('/api/v1/organizations/{organization}/backups', {
        params: { path: { organization: of.organization }, query: { dryRun }, header: dryRun ? {} : key },
        body: { name, spec: { clusterName: of.cluster, storeName: store, ...asOf(moment) } },
      }),
    )
    if (!dryRun) {
      tell(`Backup ${name} of cluster ${of.cluster} is being taken`)
      askAgain()
    }
    return `Backup ${name} would be created. Whether the store may be used and has room is seen when it is taken.`
  }
  return (
    <FormDialog
      title={`Back up cluster ${of.cluster}`}
      about="The cluster goes on meanwhile. Volumes are not backed up."
      act="Back up"
      check={{ of: text }}
      run={run}
      isIncomplete={fault !== undefined || faultOfMoment !== undefined || store === ''}
      close={close}
    >
      <TextField label="Name" value={name} onChange={setName} error={fault} maxLength={longestName} required />
      <TextField
        label="Backup store"
        value={store}
        onChange={setStore}
        help="Administrators say which stores there are."
        maxLength={253}
        required
      />
      <TextField
        label="As of"
        value={moment}
        onChange={setMoment}
        error={faultOfMoment}
        help="Nothing for now, or a moment of the past, such as 2026-03-01 09:00:00 in your time zone, where a schedule has recorded it."
        maxLength={40}
      />
    </FormDialog>
  )
}

/** DeleteBackup deletes a backup with its files. */
export function DeleteBackup({ backup, close }: { backup: Backup; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const run = async () => {
    const path = { organization: backup.organization ?? '', backup: backup.name }
    await ok(
      api.DELETE('/api/v1/organizations/{organization}/backups/{backup}', {
        params: { path, header: { 'If-Match': '*' } },
      }),
    )
    tell(`Backup ${backup.name} is being deleted`)
    askAgain()
  }
  const own = size(backup.status?.newSize)
  return (
    <FormDialog
      isDanger
      title={`Delete backup ${backup.name}?`}
      act="Delete the backup"
      typed={backup.name}
      run={run}
      close={close}
    >
      <p>
        The cluster cannot be restored to it any more. What other backups share with it stays
        {own && `; ${own} were written for it`}. While a restore needs it, it is deleted after that.
      </p>
    </FormDialog>
  )
}
