import { Alert, Skeleton } from '@patternfly/react-core'
import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import { count } from '../../logic/quantity'
import { blocking } from '../../logic/upgrade'
import { CheckField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { useAskAgain } from './data'
import type { TabProps } from './index'
import { useUpgradePlan } from './upgradedata'
import { UpgradeFindings } from './upgradefindings'
import { PlannedSteps } from './upgradesteps'
import { useVersionChoice, versionNow } from './versionchoice'

/** UpgradeTo asks for a version, shows what an upgrade to it would be and what stands against that, and creates it. */
export function UpgradeTo({ of, cluster, close, done }: TabProps & { close: () => void; done: () => void }) {
  const { version, field } = useVersionChoice(cluster)
  const [backup, setBackup] = useState(true)
  const tell = useTell()
  const askAgain = useAskAgain()
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [version, backup])
  const run = async () => {
    await ok(
      api.POST('/api/v1/organizations/{organization}/upgrades', {
        params: { path: { organization: of.organization }, header: key },
        // By the cluster and the version, as `kqueen cluster upgrade` does, so that the same one twice is one.
        body: { name: `${of.cluster}-${version}`, spec: { clusterName: of.cluster, version: version ?? '', backup } },
      }),
    )
    tell(`Cluster ${of.cluster} is being upgraded to ${version}`)
    askAgain()
  }
  return (
    <FormDialog
      isLarge
      title={`Upgrade cluster ${of.cluster}`}
      about={`It runs ${versionNow(cluster)}. The control plane goes minor by minor, and answers meanwhile; then nodes are replaced, pool by pool.`}
      act="Upgrade"
      run={run}
      isIncomplete={!version}
      done={done}
      close={close}
    >
      {field}
      {version && (
        <>
          <CheckField
            label="Back the cluster up first"
            value={backup}
            onChange={setBackup}
            help="To the backup store default. Volumes are not backed up."
          />
          <Plan of={of} version={version} backup={backup} />
        </>
      )}
    </FormDialog>
  )
}

function Plan({ of, version, backup }: { of: TabProps['of']; version: string; backup: boolean }) {
  const plan = useUpgradePlan(of, version, backup)
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
