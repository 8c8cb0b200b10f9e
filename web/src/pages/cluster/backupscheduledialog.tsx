import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import type { BackupSchedule } from '../../api/objects'
import { nameFault } from '../../logic/backup'
import { faultsOf, formOf, longestName, rules, type ScheduleForm, specOf } from '../../logic/backupschedule'
import { TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { type Of, useAskAgain } from './data'

const labels: Record<(typeof rules)[number], string> = {
  keepLast: 'Keep the last',
  keepDaily: 'Keep one of each of so many days',
  keepWeekly: 'Keep one of each of so many weeks',
  keepMonthly: 'Keep one of each of so many months',
}

/** pathOf is where a schedule is in the API. */
export const pathOf = (schedule: BackupSchedule) => ({
  organization: schedule.organization ?? '',
  backupSchedule: schedule.name,
})

const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

/** ScheduleDialog asks when backups of a cluster are taken and which are kept, for a new schedule or one that is changed. */
export function ScheduleDialog({ of, schedule, close }: { of: Of; schedule?: BackupSchedule; close: () => void }) {
  const [name, setName] = useState(schedule?.name ?? `${of.cluster}-daily`)
  const [form, setForm] = useState(() => formOf(schedule, ownZone()))
  const text = JSON.stringify([name, form])
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [text])
  const tell = useTell()
  const askAgain = useAskAgain()
  const fault = schedule ? undefined : nameOf(name)
  const faults = faultsOf(form)
  const set = (field: keyof ScheduleForm) => (to: string) => setForm({ ...form, [field]: to })
  const run = async (dryRun: boolean) => {
    await (schedule ? change(schedule, form, dryRun) : create(of, name, form, dryRun, key))
    if (!dryRun) {
      tell(`Schedule ${name} is ${schedule ? 'changed' : 'created'}`)
      askAgain()
    }
    return `Schedule ${name} would be ${schedule ? 'changed' : 'created'}.`
  }
  return (
    <FormDialog
      title={schedule ? `Change schedule ${name}` : `Back up cluster ${of.cluster} at times`}
      about="A backup is kept by any of the rules, and the newest one always. The other ones of this schedule are deleted."
      act={schedule ? 'Change' : 'Create'}
      check={{ of: text }}
      run={run}
      isIncomplete={fault !== undefined || Object.keys(faults).length > 0}
      close={close}
    >
      {!schedule && (
        <TextField label="Name" value={name} onChange={setName} error={fault} maxLength={longestName} required />
      )}
      <TextField
        label="When"
        value={form.schedule}
        onChange={set('schedule')}
        error={faults.schedule}
        help="@hourly, @daily, @weekly or @monthly, or as cron says it: 30 2 * * * is half past two each night."
        maxLength={128}
        required
      />
      <TextField
        label="Time zone"
        value={form.timeZone}
        onChange={set('timeZone')}
        help="Such as Europe/Prague or UTC."
        maxLength={64}
        required
      />
      {rules.map((rule) => (
        <TextField
          key={rule}
          label={labels[rule]}
          value={form[rule]}
          onChange={set(rule)}
          error={faults[rule]}
          maxLength={4}
          numeric
        />
      ))}
      <TextField
        label="Recovery window in hours"
        value={form.window}
        onChange={set('window')}
        error={faults.window}
        help="Changes between backups are recorded, so that any moment of it can be restored; 168 is a week. Nothing for backups alone."
        maxLength={4}
        numeric
      />
    </FormDialog>
  )
}

/** nameOf says what is wrong with a name. */
function nameOf(name: string): string | undefined {
  if (name.length > longestName) return `At most ${longestName} letters.`
  return nameFault(name, [])
}

function create({ organization, cluster }: Of, name: string, form: ScheduleForm, dryRun: boolean, key: object) {
  return ok(
    api.POST('/api/v1/organizations/{organization}/backupschedules', {
      params: { path: { organization }, query: { dryRun }, header: dryRun ? {} : key },
      body: { name, spec: { clusterName: cluster, ...specOf(form, false) } },
    }),
  )
}

function change(schedule: BackupSchedule, form: ScheduleForm, dryRun: boolean) {
  return ok(
    api.PATCH('/api/v1/organizations/{organization}/backupschedules/{backupSchedule}', {
      params: { path: pathOf(schedule), query: { dryRun }, header: { 'If-Match': '*' } },
      body: { spec: specOf(form, true) } as never,
      headers: { 'Content-Type': 'application/merge-patch+json' },
    }),
  )
}
