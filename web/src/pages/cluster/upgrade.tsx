import { Alert, Skeleton } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import { releasesQuery } from '../../app/catalogue'
import { count } from '../../logic/quantity'
import { blocking, upgradesFrom } from '../../logic/upgrade'
import { CheckField, ChoiceField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { useAskAgain } from './data'
import type { TabProps } from './index'
import { useUpgradePlan } from './upgradedata'
import { UpgradeFindings } from './upgradefindings'
import { PlannedSteps } from './upgradesteps'

/** UpgradeTo asks for a version, shows what an upgrade to it would be and what stands against that, and creates it. */
export function UpgradeTo({ of, cluster, close, done }: TabProps & { close: () => void; done: () => void }) {
  const current = cluster.status?.version ?? cluster.spec?.version
  const releases = useQuery(releasesQuery)
  const offered = upgradesFrom(current, releases.data?.items ?? [])
  const [chosen, setChosen] = useState<string>()
  const [backup, setBackup] = useState(true)
  const version = chosen ?? offered[0]
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
      about={`It runs ${current}. The control plane goes minor by minor, and answers meanwhile; then nodes are replaced, pool by pool.`}
      act="Upgrade"
      run={run}
      isIncomplete={!version}
      done={done}
      close={close}
    >
      <ProblemAlert error={releases.error} again={() => void releases.refetch()} />
      {releases.data && offered.length === 0 && (
        <Alert component="p" isInline variant="info" title={`There is no release to which ${current} can be raised`}>
          An administrator adds releases with <code>kqueen release build</code>.
        </Alert>
      )}
      {version && (
        <>
          <ChoiceField
            label="Version"
            value={version}
            onChange={setChosen}
            choices={offered.map((name) => ({ value: name, text: name }))}
          />
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
