import { Alert, Skeleton } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import { count } from '../../logic/quantity'
import { backupBefore, blocking, upgradeName } from '../../logic/upgrade'
import { CheckField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { useAskAgain } from './data'
import type { TabProps } from './index'
import { type UpgradeHow, upgradesQuery, useUpgradePlan } from './upgradedata'
import { UpgradeFindings } from './upgradefindings'
import { PlannedSteps } from './upgradesteps'
import { useVersionChoice, versionNow } from './versionchoice'

interface UpgradeToProps extends TabProps {
  /** back is the version of a rollback; it is asked for where there is none. */
  back?: string
  close: () => void
  done: () => void
}

/** UpgradeTo asks for a version, shows what an upgrade to it would be and what stands against that, and creates it; or a rollback. */
export function UpgradeTo({ of, cluster, back, close, done }: UpgradeToProps) {
  const choice = useVersionChoice(cluster)
  const earlier = useQuery(upgradesQuery(of))
  const rollback = back !== undefined
  const version = back ?? choice.version
  const [backup, setBackup] = useState(true)
  const [restores, setRestores] = useState(false)
  const plain = useUpgradePlan(of, back, { rollback, backup })
  const kept = rollback ? backupBefore(earlier.data?.items ?? [], back, plain.data?.findings) : undefined
  const restored = restores ? kept : undefined
  const tell = useTell()
  const askAgain = useAskAgain()
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [version, backup, restored])
  const run = async () => {
    await ok(
      api.POST('/api/v1/organizations/{organization}/upgrades', {
        params: { path: { organization: of.organization }, header: key },
        body: {
          name: upgradeName(earlier.data?.items ?? [], { cluster: of.cluster, version: version ?? '', rollback }),
          spec: {
            clusterName: of.cluster,
            version: version ?? '',
            backup,
            ...(rollback && { rollback }),
            ...(restored && { restoreBackupName: restored }),
          },
        },
      }),
    )
    tell(`Cluster ${of.cluster} ${rollback ? 'goes back' : 'is being upgraded'} to ${version}`)
    askAgain()
  }
  return (
    <FormDialog
      isLarge
      title={rollback ? `Roll cluster ${of.cluster} back to ${version}` : `Upgrade cluster ${of.cluster}`}
      about={`It runs ${versionNow(cluster)}. ${rollback ? backAbout : 'The control plane goes minor by minor, and answers meanwhile; then nodes are replaced, pool by pool.'}`}
      act={rollback ? 'Roll back' : 'Upgrade'}
      run={run}
      isIncomplete={!version || !earlier.data}
      isDanger={!!restored}
      typed={restored && of.cluster}
      done={done}
      close={close}
    >
      {!rollback && choice.field}
      {version && (
        <>
          <CheckField
            label="Back the cluster up first"
            value={backup}
            onChange={setBackup}
            help="To the backup store default. Volumes are not backed up."
          />
          {kept && (
            <CheckField
              label={`Restore backup ${kept}, of before the upgrade`}
              value={restores}
              onChange={setRestores}
              help="Objects that only the newer version knows cannot go back with it. With the backup, all that was written since is lost, and the API server stops meanwhile; what that is, a comparison in the tab Backups says."
            />
          )}
          <Plan of={of} version={version} how={{ rollback, backup, restored }} />
        </>
      )}
    </FormDialog>
  )
}

const backAbout =
  'Nodes are replaced by older ones first, pool by pool; then the control plane goes back, and answers meanwhile. All objects stay. ' +
  'Fields that only the newer version knows are lost when their objects are next written.'

interface PlanProps {
  of: TabProps['of']
  version: string
  how: UpgradeHow
}

function Plan({ of, version, how }: PlanProps) {
  const plan = useUpgradePlan(of, version, how)
  if (plan.error) return <ProblemAlert error={plan.error} again={() => void plan.refetch()} />
  if (!plan.data) return <Skeleton screenreaderText="Looking at the cluster" height="10rem" />
  const findings = plan.data.findings ?? []
  const against = blocking(findings).length
  return (
    <>
      {against > 0 && (
        <Alert
          component="p"
          isInline
          variant="warning"
          title={`${count(against, 'finding')} would keep the upgrade from going on`}
        >
          It can be created all the same: it looks again every minute, and goes on when they are mended or ignored.
        </Alert>
      )}
      <UpgradeFindings findings={findings} omitted={plan.data.omittedFindings} />
      <PlannedSteps steps={plan.data.steps ?? []} />
    </>
  )
}
