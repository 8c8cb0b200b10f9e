import { Alert, Button, Flex, FlexItem, Stack, Title } from '@patternfly/react-core'
import { useState } from 'react'
import type { Backup } from '../../api/objects'
import { useMe } from '../../app/queries'
import { copyable, restorable, size } from '../../logic/backup'
import { isAdopted } from '../../logic/cluster'
import { may, type Permission } from '../../logic/roles'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Foreign } from '../../ui/foreign'
import { Guarded } from '../../ui/guarded'
import { HealthAndWhy } from '../../ui/health'
import { LiveMark } from '../../ui/livemark'
import { ProblemAlert } from '../../ui/problem'
import { RowActions } from '../../ui/rowactions'
import { BackupCli } from './backupcli'
import { useBackups } from './backupdata'
import { BackUp, DeleteBackup } from './backupdialogs'
import { Compare, RestoreAs, RestoreTo } from './backuprestore'
import { BackupSchedules } from './backupschedules'
import type { TabProps } from './index'
import { RestoreDetails } from './restoredetails'
import { Restores } from './restores'

type Open =
  | { what: 'create' }
  | { what: 'compare' | 'restore' | 'new' | 'delete'; backup: Backup }
  | { what: 'details'; name: string }

const page = 50

/** Backups shows the backups of a cluster and what was restored, as they change. */
export function Backups(props: TabProps) {
  if (!isAdopted(props.cluster)) return <Hosted {...props} />
  return (
    <Empty title="KQueen cannot back up this cluster">
      Others run it: KQueen does not reach its data store, which backups are read from. Clusters whose control plane
      KQueen hosts have them.
    </Empty>
  )
}

function Hosted({ of, cluster }: TabProps) {
  const [open, setOpen] = useState<Open>()
  const [most, setMost] = useState(page)
  const role = may(useMe(), of.organization, 'operator')
  const { backups, restores, more, error, again, live } = useBackups(of)
  const names = { backups: namesOf(backups), restores: namesOf(restores) }
  const close = () => setOpen(undefined)
  const details = (name: string) => setOpen({ what: 'details', name })
  const there: Permission =
    role.allowed && cluster.deletionRequestedAt ? { allowed: false, why: 'The cluster is being deleted.' } : role
  const create = (
    <Guarded permission={there} onClick={() => setOpen({ what: 'create' })}>
      Back up now
    </Guarded>
  )
  return (
    <Stack hasGutter>
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <FlexItem>
          <Title headingLevel="h2">
            Backups <LiveMark state={live} />
          </Title>
          <p className="kq-quiet">
            All objects of the cluster’s API as they were at one moment. What is on volumes is not in them.
          </p>
        </FlexItem>
        <Flex spaceItems={{ default: 'spaceItemsSm' }}>
          {create}
          <BackupCli of={of} backup={backups?.[0]?.name} />
        </Flex>
      </Flex>
      <ProblemAlert error={error} again={again} />
      {more && <Alert component="p" isInline variant="info" title="The oldest are not shown: there are very many" />}
      {!error && (
        <DataTable
          label="Backups"
          columns={columnsOf(role, (backup) => restorable(backup, cluster), setOpen)}
          rows={backups?.slice(0, most)}
          keyOf={(backup) => backup.uid}
          empty={
            <Empty title="This cluster has no backup" actions={create}>
              A mistake in the cluster cannot be undone without one.
            </Empty>
          }
        />
      )}
      {!error && (backups?.length ?? 0) > most && (
        <Button variant="link" onClick={() => setMost(most + page)}>
          Show more backups
        </Button>
      )}
      <BackupSchedules of={of} permission={there} />
      {!error && <Restores of={of} permission={role} rows={restores} show={(restore) => details(restore.name)} />}
      {open?.what === 'create' && <BackUp of={of} names={names.backups} close={close} />}
      {open?.what === 'delete' && <DeleteBackup backup={open.backup} close={close} />}
      {open?.what === 'compare' && (
        <Compare of={of} backup={open.backup} names={names.restores} done={details} close={close} />
      )}
      {open?.what === 'restore' && (
        <RestoreTo of={of} backup={open.backup} names={names.restores} done={details} close={close} />
      )}
      {open?.what === 'new' && (
        <RestoreAs of={of} backup={open.backup} names={names.restores} done={details} close={close} />
      )}
      {open?.what === 'details' && <RestoreDetails of={of} name={open.name} close={close} />}
    </Stack>
  )
}

/** namesOf are those that are not proposed again. The server refuses those of other clusters. */
const namesOf = (all: { name: string }[] = []) => all.map((one) => one.name)

function columnsOf(
  role: Permission,
  usable: (backup: Backup) => Permission,
  open: (o: Open) => void,
): Column<Backup>[] {
  return [
    { name: 'Name', cell: (backup) => <Name backup={backup} />, modifier: 'breakWord' },
    { name: 'Health', cell: (backup) => <HealthAndWhy of={backup} /> },
    { name: 'Taken', cell: (backup) => <Age at={backup.status?.takenTime} none="not yet" />, modifier: 'nowrap' },
    { name: 'Size', cell: (backup) => size(backup.status?.size), modifier: 'nowrap' },
    { name: 'New size', cell: (backup) => size(backup.status?.newSize), modifier: 'nowrap' },
    { name: 'Verified', cell: (backup) => <Age at={backup.status?.verifiedTime} none="never" />, modifier: 'nowrap' },
    {
      name: 'Actions',
      cell: (backup) => {
        const permission = role.allowed ? usable(backup) : role
        const gone: Permission = { allowed: false, why: 'The backup is being deleted already.' }
        return (
          <RowActions
            of={backup.name}
            actions={[
              { name: 'Compare', permission, run: () => open({ what: 'compare', backup }) },
              { name: 'Restore', permission, run: () => open({ what: 'restore', backup }) },
              {
                name: 'Restore as a new cluster',
                permission: role.allowed ? copyable(backup) : role,
                run: () => open({ what: 'new', backup }),
              },
              {
                name: 'Delete',
                permission: role.allowed && backup.deletionRequestedAt ? gone : role,
                run: () => open({ what: 'delete', backup }),
                isDanger: true,
              },
            ]}
          />
        )
      },
    },
  ]
}

function Name({ backup }: { backup: Backup }) {
  const store = backup.spec?.storeName
  return (
    <div>
      <Foreign text={backup.name} />
      {store && store !== 'default' && <div className="kq-small kq-quiet">in store {store}</div>}
    </div>
  )
}
