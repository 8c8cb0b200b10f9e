import { Alert, Card, CardBody, CardTitle, Flex, FlexItem, Stack, Title } from '@patternfly/react-core'
import { useState } from 'react'
import type { Upgrade } from '../../api/objects'
import { useMe } from '../../app/queries'
import { readable } from '../../logic/foreign'
import { may, type Permission } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { hasBegunToChange, hasEnded, rollbackOf } from '../../logic/upgrade'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { FormDialog } from '../../ui/formdialog'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { HealthAndWhy, HealthLabel } from '../../ui/health'
import { LiveMark } from '../../ui/livemark'
import { ProblemAlert } from '../../ui/problem'
import { RowActions } from '../../ui/rowactions'
import { useTell } from '../../ui/toasts'
import { type Of, useAskAgain } from './data'
import type { TabProps } from './index'
import { Rehearsals } from './rehearsals'
import { UpgradeTo } from './upgrade'
import { changeUpgrade, deleteUpgrade, useUpgrades } from './upgradedata'
import { UpgradeFindings } from './upgradefindings'
import { UpgradeSteps } from './upgradesteps'

/** Upgrades shows the upgrade of a cluster that goes on, with its steps and what stands against it, and those before it. */
export function Upgrades({ of, cluster }: TabProps) {
  const [asking, setAsking] = useState<{ back?: string }>()
  const [doomed, setDoomed] = useState<Upgrade>()
  const role = may(useMe(), of.organization, 'operator')
  const { data, error, refetch, live } = useUpgrades(of)
  const running = data?.items.filter((upgrade) => !hasEnded(upgrade)) ?? []
  const permission: Permission =
    role.allowed && cluster.deletionRequestedAt ? { allowed: false, why: 'The cluster is being deleted.' } : role
  const create = (
    <Guarded permission={permission} onClick={() => setAsking({})}>
      Upgrade to another version
    </Guarded>
  )
  const back = running.length === 0 && data ? rollbackOf(data.items, cluster.status?.version) : undefined
  return (
    <Stack hasGutter>
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <FlexItem>
          <Title headingLevel="h2">
            Upgrades <LiveMark state={live} />
          </Title>
          <p className="kq-quiet">Each is checked before it changes the cluster, and can be paused and ended.</p>
        </FlexItem>
        <Flex spaceItems={{ default: 'spaceItemsSm' }}>
          {back && (
            <Guarded permission={permission} variant="secondary" onClick={() => setAsking({ back })}>
              Roll back to {back}
            </Guarded>
          )}
          {create}
          <UpgradeCli of={of} upgrade={running[0]?.name} />
        </Flex>
      </Flex>
      <ProblemAlert error={error} again={() => void refetch()} />
      {data?.cursor && (
        <Alert component="p" isInline variant="info" title="The oldest are not shown: there are very many" />
      )}
      {running.map((upgrade) => (
        <Running key={upgrade.uid} upgrade={upgrade} permission={role} end={() => setDoomed(upgrade)} />
      ))}
      {!error && (
        <DataTable
          label="Upgrades"
          columns={columnsOf(role, setDoomed)}
          rows={data?.items.filter(hasEnded)}
          keyOf={(upgrade) => upgrade.uid}
          empty={running.length === 0 ? <Empty title="This cluster was not upgraded yet" actions={create} /> : null}
        />
      )}
      <Rehearsals of={of} cluster={cluster} permission={permission} />
      {asking && (
        <UpgradeTo
          of={of}
          cluster={cluster}
          back={asking.back}
          done={() => setAsking(undefined)}
          close={() => setAsking(undefined)}
        />
      )}
      {doomed && <End of={of} upgrade={doomed} close={() => setDoomed(undefined)} />}
    </Stack>
  )
}

interface RunningProps {
  upgrade: Upgrade
  permission: Permission
  end: () => void
}

/** Running is an upgrade that goes on. */
function Running({ upgrade, permission, end }: RunningProps) {
  const askAgain = useAskAgain()
  const [error, setError] = useState<unknown>()
  const { spec, status } = upgrade
  const ending: Permission =
    permission.allowed && upgrade.deletionRequestedAt
      ? { allowed: false, why: 'The upgrade is being ended.' }
      : permission
  const change = (to: Parameters<typeof changeUpgrade>[1]) => {
    setError(undefined)
    changeUpgrade(upgrade, to).then(askAgain, setError)
  }
  return (
    <Card>
      <CardTitle component="h3">
        <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
          <FlexItem>
            {readable(status?.fromVersion)} to {readable(spec?.version)} <HealthLabel of={upgrade} isCompact={false} />
          </FlexItem>
          <Flex spaceItems={{ default: 'spaceItemsSm' }}>
            <Guarded permission={ending} variant="secondary" onClick={() => change({ paused: !spec?.paused })}>
              {spec?.paused ? 'Resume' : 'Pause'}
            </Guarded>
            <Guarded permission={ending} variant="danger" onClick={end}>
              End the upgrade
            </Guarded>
          </Flex>
        </Flex>
      </CardTitle>
      <CardBody>
        <Stack hasGutter>
          <ProblemAlert error={error} />
          {spec?.paused && (
            <Alert
              component="p"
              isInline
              variant="info"
              title="Paused: the next step does not begin until you resume it"
            />
          )}
          {status?.nextWindowTime && (
            <Alert component="p" isInline variant="info" title="The next step waits for a maintenance window">
              It may begin <Age at={status.nextWindowTime} />.{' '}
              <Guarded permission={ending} variant="link" isInline onClick={() => change({ ignoreMaintenance: true })}>
                Begin it now
              </Guarded>
            </Alert>
          )}
          <UpgradeFindings
            findings={status?.findings ?? []}
            omitted={status?.omittedFindings}
            ignored={spec?.ignore}
            ignore={{ permission: ending, run: (check) => change({ ignore: [...(spec?.ignore ?? []), check] }) }}
          />
          <UpgradeSteps steps={status?.steps ?? []} />
        </Stack>
      </CardBody>
    </Card>
  )
}

function columnsOf(role: Permission, remove: (upgrade: Upgrade) => void): Column<Upgrade>[] {
  return [
    { name: 'From', cell: ({ status }) => status?.fromVersion, modifier: 'nowrap' },
    { name: 'To', cell: ({ spec }) => spec?.version, modifier: 'nowrap' },
    { name: 'Health', cell: (upgrade) => <HealthAndWhy of={upgrade} /> },
    { name: 'Backup', cell: ({ status }) => status?.backupName ?? '–', modifier: 'breakWord' },
    { name: 'Begun', cell: (upgrade) => <Age at={upgrade.createdAt} />, modifier: 'nowrap' },
    { name: 'Ended', cell: ({ status }) => <Age at={status?.completionTime} />, modifier: 'nowrap' },
    {
      name: 'Actions',
      cell: (upgrade) => (
        <RowActions
          of={upgrade.name}
          actions={[{ name: 'Delete the record', permission: role, run: () => remove(upgrade), isDanger: true }]}
        />
      ),
    },
  ]
}

/** End ends an upgrade that goes on, or deletes the record of one that has ended. */
function End({ of, upgrade, close }: { of: Of; upgrade: Upgrade; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const ended = hasEnded(upgrade)
  const run = async () => {
    await deleteUpgrade(upgrade)
    tell(ended ? `The record of upgrade ${upgrade.name} is deleted` : `Upgrade ${upgrade.name} is being ended`)
    askAgain()
  }
  return (
    <FormDialog
      isDanger
      title={ended ? `Delete the record of upgrade ${upgrade.name}?` : `End upgrade ${upgrade.name}?`}
      act={ended ? 'Delete the record' : 'End the upgrade'}
      typed={ended ? undefined : of.cluster}
      run={run}
      close={close}
    >
      <p>{ended ? 'The cluster stays as it is, and so does its backup.' : whatStays(upgrade)}</p>
    </FormDialog>
  )
}

function whatStays(upgrade: Upgrade): string {
  if (!hasBegunToChange(upgrade)) return 'It has changed nothing yet: the cluster stays as it is.'
  if (upgrade.spec?.rollback)
    return (
      'Until its programs are replaced, the control plane goes on as the version that it has; then it stays at the older one. ' +
      'Node pools that have gone back keep their version, as one of their own.'
    )
  return (
    'While the control plane has not reached its next version, the cluster goes back to the version that it has; else what is done stays. ' +
    'Node pools whose turn has not come keep their version, as one of their own.'
  )
}

function UpgradeCli({ of, upgrade = 'UPGRADE' }: { of: Of; upgrade?: string }) {
  const flags = `--org ${shellWord(of.organization)}`
  const path = `/api/v1/organizations/${encodeURIComponent(of.organization)}`
  return (
    <FromCli
      lines={[
        {
          about: 'See what an upgrade would be; nothing is changed',
          command: `kqueen cluster upgrade ${shellWord(of.cluster)} --to VERSION --dry-run ${flags}`,
        },
        {
          about: 'Upgrade the cluster',
          command: `kqueen cluster upgrade ${shellWord(of.cluster)} --to VERSION ${flags} --wait`,
        },
        {
          about: 'Go back to the version before',
          command: `kqueen cluster rollback ${shellWord(of.cluster)} ${flags} --wait`,
        },
        { about: 'How far it is', command: `kqueen upgrade describe ${shellWord(upgrade)} ${flags}` },
        { about: 'Pause it, and go on', command: `kqueen upgrade pause ${shellWord(upgrade)} ${flags}` },
        { about: 'and', command: `kqueen upgrade resume ${shellWord(upgrade)} ${flags}` },
        { about: 'End it', command: `kqueen upgrade abort ${shellWord(upgrade)} ${flags}` },
      ]}
      calls={[
        { method: 'GET', path: `${path}/clusters/${encodeURIComponent(of.cluster)}/upgrade-plan?version=VERSION` },
        { method: 'GET', path: `${path}/upgrades?cluster=${encodeURIComponent(of.cluster)}` },
        {
          method: 'POST',
          path: `${path}/upgrades`,
          body: { name: 'NAME', spec: { clusterName: of.cluster, version: 'VERSION' } },
        },
      ]}
    />
  )
}
