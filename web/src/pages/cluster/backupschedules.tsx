import { Flex, FlexItem, Title } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import type { BackupSchedule } from '../../api/objects'
import { keepsInWords } from '../../logic/backupschedule'
import type { Permission } from '../../logic/roles'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import { FormDialog } from '../../ui/formdialog'
import { Guarded } from '../../ui/guarded'
import { HealthAndWhy } from '../../ui/health'
import { ProblemAlert } from '../../ui/problem'
import { RowActions } from '../../ui/rowactions'
import { useTell } from '../../ui/toasts'
import { pathOf, ScheduleDialog } from './backupscheduledialog'
import { type Of, useAskAgain } from './data'

const most = 100

type Open = { what: 'create' } | { what: 'change' | 'delete'; schedule: BackupSchedule }

function useSchedules({ organization, cluster }: Of) {
  const query = useQuery({
    queryKey: ['backupschedules', organization, cluster],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/backupschedules', {
          params: { path: { organization }, query: { cluster, limit: most } },
        }),
      ),
  })
  const base = `/api/v1/organizations/${encodeURIComponent(organization)}`
  useLive(`${base}/backupschedules?cluster=${encodeURIComponent(cluster)}`, [['backupschedules', organization]])
  return query
}

/** BackupSchedules are when backups of a cluster are taken by themselves, and which of them are kept. */
export function BackupSchedules({ of, permission }: { of: Of; permission: Permission }) {
  const [open, setOpen] = useState<Open>()
  const [error, setError] = useState<unknown>()
  const askAgain = useAskAgain()
  const query = useSchedules(of)
  const close = () => setOpen(undefined)
  const pause = (schedule: BackupSchedule) => {
    setError(undefined)
    ok(
      api.PATCH('/api/v1/organizations/{organization}/backupschedules/{backupSchedule}', {
        params: { path: pathOf(schedule), header: { 'If-Match': '*' } },
        body: { spec: { paused: !schedule.spec?.paused } } as never,
        headers: { 'Content-Type': 'application/merge-patch+json' },
      }),
    ).then(askAgain, setError)
  }
  return (
    <section aria-labelledby="schedules">
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <FlexItem>
          <Title headingLevel="h2" id="schedules">
            Schedules
          </Title>
        </FlexItem>
        <FlexItem>
          <Guarded permission={permission} variant="secondary" onClick={() => setOpen({ what: 'create' })}>
            Back up at times
          </Guarded>
        </FlexItem>
      </Flex>
      <ProblemAlert error={query.error ?? error} again={query.error ? () => void query.refetch() : undefined} />
      {!query.error && (
        <DataTable
          label="Schedules"
          columns={columnsOf(permission, setOpen, pause)}
          rows={query.data?.items}
          keyOf={(schedule) => schedule.uid}
          empty={<p className="kq-quiet">No backups are taken by themselves.</p>}
        />
      )}
      {open?.what === 'create' && <ScheduleDialog of={of} close={close} />}
      {open?.what === 'change' && <ScheduleDialog of={of} schedule={open.schedule} close={close} />}
      {open?.what === 'delete' && <DeleteSchedule schedule={open.schedule} close={close} />}
    </section>
  )
}

function columnsOf(
  permission: Permission,
  open: (o: Open) => void,
  pause: (schedule: BackupSchedule) => void,
): Column<BackupSchedule>[] {
  return [
    { name: 'Name', cell: ({ name }) => name, modifier: 'breakWord' },
    {
      name: 'When',
      cell: ({ spec }) => (
        <div>
          <Foreign text={spec?.schedule} />
          <div className="kq-small kq-quiet">
            <Foreign text={spec?.timeZone} />
          </div>
        </div>
      ),
    },
    {
      name: 'Keeps',
      cell: ({ spec, status }) => (
        <div>
          {keepsInWords(spec?.retention)}
          {status?.earliestRecoveryTime && (
            <div className="kq-small kq-quiet">
              any moment since <Age at={status.earliestRecoveryTime} />
            </div>
          )}
        </div>
      ),
    },
    { name: 'Health', cell: (schedule) => <HealthAndWhy of={schedule} /> },
    { name: 'Last', cell: ({ status }) => <Age at={status?.lastTakenTime} none="none yet" />, modifier: 'nowrap' },
    {
      name: 'Next',
      cell: ({ spec, status }) => (spec?.paused ? 'paused' : <Age at={status?.nextTime} />),
      modifier: 'nowrap',
    },
    { name: 'Backups', cell: ({ status }) => String(status?.backups ?? 0) },
    {
      name: 'Actions',
      cell: (schedule) => (
        <RowActions
          of={schedule.name}
          actions={[
            { name: 'Change', permission, run: () => open({ what: 'change', schedule }) },
            { name: schedule.spec?.paused ? 'Resume' : 'Pause', permission, run: () => pause(schedule) },
            { name: 'Delete', permission, run: () => open({ what: 'delete', schedule }), isDanger: true },
          ]}
        />
      ),
    },
  ]
}

function DeleteSchedule({ schedule, close }: { schedule: BackupSchedule; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const run = async () => {
    await ok(
      api.DELETE('/api/v1/organizations/{organization}/backupschedules/{backupSchedule}', {
        params: { path: pathOf(schedule), header: { 'If-Match': '*' } },
      }),
    )
    tell(`Schedule ${schedule.name} is deleted`)
    askAgain()
  }
  return (
    <FormDialog isDanger title={`Delete schedule ${schedule.name}?`} act="Delete the schedule" run={run} close={close}>
      <p>
        No more backups are taken by it. Those that it has taken stay, and have to be deleted one by one.
        {schedule.spec?.recoveryWindowHours && ' What it has recorded between them is deleted, too.'}
      </p>
    </FormDialog>
  )
}
