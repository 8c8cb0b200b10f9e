import { useState } from 'react'
import {
  freezeFault,
  hibernationOf,
  idleFault,
  type MaintenanceForm,
  maintenanceForm,
  maintenanceOf,
  type SleepForm,
  sleepForm,
  windowHelp,
  windowsFault,
} from '../../logic/windows'
import { CheckField, ChoiceField, TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { changeCluster, useAskAgain } from './data'
import type { TabProps } from './index'

type Props = TabProps & { close: () => void }

const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'

/** useChange changes a part of the spec of a cluster to what a form says, or asks what would be. */
function useChange({ of }: Props, said: string, spec: () => object) {
  const tell = useTell()
  const askAgain = useAskAgain()
  return async (dryRun: boolean) => {
    await changeCluster(of, spec, dryRun)
    if (!dryRun) {
      tell(said)
      askAgain()
    }
    return 'The settings would be changed.'
  }
}

/** SleepTimes asks when a cluster sleeps by itself. */
export function SleepTimes(props: Props) {
  const { of, cluster, close } = props
  const [form, setForm] = useState(() => sleepForm(cluster.spec?.hibernation, ownZone()))
  const set = (change: Partial<SleepForm>) => setForm({ ...form, ...change })
  const run = useChange(props, `When cluster ${of.cluster} sleeps was changed`, () => ({
    hibernation: hibernationOf(form),
  }))
  const faults = { idle: idleFault(form.idleMinutes), windows: windowsFault(form.windows) }
  return (
    <FormDialog
      title={`When cluster ${of.cluster} sleeps`}
      about="Its control plane and its machines on KQueen’s host end then, and so do pods there. A client that connects wakes it."
      act="Change"
      check={{ of: JSON.stringify(form) }}
      isIncomplete={!!faults.idle || !!faults.windows}
      run={run}
      close={close}
    >
      <CheckField
        label="Whenever it is idle"
        value={form.whenIdle}
        onChange={(whenIdle) => set({ whenIdle })}
        help="Idle is a cluster whose API no user or program has called, and where no Job runs."
      />
      <TextField
        label="Idle after minutes"
        value={form.idleMinutes}
        onChange={(idleMinutes) => set({ idleMinutes })}
        error={faults.idle}
        help="So long it stays awake, too, when it was woken in a window."
        maxLength={5}
        numeric
        required
      />
      <Windows label="In these windows" form={form} fault={faults.windows} set={set} />
    </FormDialog>
  )
}

/** MaintenanceTimes asks when steps of upgrades may begin. */
export function MaintenanceTimes(props: Props) {
  const { of, cluster, close } = props
  const [form, setForm] = useState(() => maintenanceForm(cluster.spec?.maintenance, ownZone()))
  const set = (change: Partial<MaintenanceForm>) => setForm({ ...form, ...change })
  const run = useChange(props, `Maintenance of cluster ${of.cluster} was changed`, () => ({
    maintenance: maintenanceOf(form),
  }))
  const faults = { windows: windowsFault(form.windows), freeze: freezeFault(form.freeze, new Date()) }
  return (
    <FormDialog
      title={`Maintenance of cluster ${of.cluster}`}
      about="When steps of an upgrade may begin to change the cluster. One that has begun goes on when its window ends."
      act="Change"
      check={{ of: JSON.stringify(form) }}
      isIncomplete={!!faults.windows || !!faults.freeze}
      run={run}
      close={close}
    >
      <Windows label="Only in these windows" form={form} fault={faults.windows} set={set} />
      <TextField
        label="None begins until"
        value={form.freeze}
        onChange={(freeze) => set({ freeze })}
        error={faults.freeze}
        help="A time such as 2027-01-07 09:00 in your time zone. Nothing for no freeze."
        maxLength={40}
      />
      <ChoiceField
        label="New patches"
        value={form.channel}
        onChange={(channel) => set({ channel })}
        choices={[
          { value: 'None', text: 'Upgrade only when a user asks' },
          { value: 'Patch', text: 'Upgrade by itself to the newest patch of its minor' },
        ]}
      />
    </FormDialog>
  )
}

interface WindowsProps {
  label: string
  form: { windows: string; timeZone: string }
  fault?: string
  set: (change: { windows?: string; timeZone?: string }) => void
}

/** Windows are times that come again, with the time zone that they are in. */
function Windows({ label, form, fault, set }: WindowsProps) {
  return (
    <>
      <TextField
        label={label}
        value={form.windows}
        onChange={(windows) => set({ windows })}
        error={fault}
        help={windowHelp}
        placeholder="0 20 * * MON-FRI=11h"
        lines
      />
      <TextField
        label="Time zone"
        value={form.timeZone}
        onChange={(timeZone) => set({ timeZone })}
        help="Of the windows, such as Europe/Prague or UTC."
        maxLength={64}
        required
      />
    </>
  )
}
