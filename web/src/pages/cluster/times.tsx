import {
  Card,
  CardBody,
  CardHeader,
  CardTitle,
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
} from '@patternfly/react-core'
import { type ReactNode, useState } from 'react'
import { useMe } from '../../app/queries'
import { may, type Permission } from '../../logic/roles'
import { maintenanceInWords, sleepInWords } from '../../logic/windows'
import { Age } from '../../ui/age'
import { foreign } from '../../ui/foreign'
import { Guarded } from '../../ui/guarded'
import type { TabProps } from './index'
import { MaintenanceTimes, SleepTimes } from './timesdialogs'

/** Times says when a cluster sleeps by itself and when its upgrades may begin, and lets those who may change it. */
export function Times({ of, cluster }: TabProps) {
  const [open, setOpen] = useState<'sleep' | 'maintenance'>()
  const role = may(useMe(), of.organization, 'operator')
  const permission: Permission =
    role.allowed && cluster.deletionRequestedAt ? { allowed: false, why: 'The cluster is being deleted.' } : role
  const { hibernation, maintenance } = cluster.spec ?? {}
  const asleep = cluster.status?.hibernation
  const close = () => setOpen(undefined)
  const rows: [string, ReactNode][] = [
    ['Sleeps', sleepInWords(hibernation)],
    ['Now', asleep?.message],
    ['Upgrades begin', maintenanceInWords(maintenance)],
    ['None begins until', maintenance?.freezeEndTime && <Age key="freeze" at={maintenance.freezeEndTime} />],
    ['New patches', maintenance?.upgradeChannel === 'Patch' ? 'upgraded to by itself' : 'only when a user asks'],
  ]
  return (
    <Card>
      <CardHeader
        actions={{
          hasNoOffset: true,
          actions: (
            <div className="kq-row">
              <Guarded permission={permission} variant="secondary" size="sm" onClick={() => setOpen('sleep')}>
                Change when it sleeps
              </Guarded>
              <Guarded permission={permission} variant="secondary" size="sm" onClick={() => setOpen('maintenance')}>
                Change maintenance
              </Guarded>
            </div>
          ),
        }}
      >
        <CardTitle component="h2">Sleep and maintenance</CardTitle>
      </CardHeader>
      <CardBody>
        <DescriptionList isCompact isHorizontal>
          {rows
            .filter(([, value]) => value)
            .map(([name, value]) => (
              <DescriptionListGroup key={name}>
                <DescriptionListTerm>{name}</DescriptionListTerm>
                <DescriptionListDescription className="kq-wrap">{foreign(value, true)}</DescriptionListDescription>
              </DescriptionListGroup>
            ))}
        </DescriptionList>
      </CardBody>
      {open === 'sleep' && <SleepTimes of={of} cluster={cluster} close={close} />}
      {open === 'maintenance' && <MaintenanceTimes of={of} cluster={cluster} close={close} />}
    </Card>
  )
}
