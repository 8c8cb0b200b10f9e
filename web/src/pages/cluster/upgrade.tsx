import { Alert } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { releasesQuery } from '../../app/catalogue'
import { upgradesFrom } from '../../logic/cluster'
import { ChoiceField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { changeCluster, useAskAgain } from './data'
import type { TabProps } from './index'

/** Upgrade raises the version of a cluster by a patch or by one minor. */
export function Upgrade({ of, cluster, close }: TabProps & { close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const current = cluster.spec?.version
  const releases = useQuery(releasesQuery)
  const offered = upgradesFrom(current, releases.data?.items ?? [])
  const [chosen, setChosen] = useState<string>()
  const version = chosen ?? offered[0]
  const run = async (dryRun: boolean) => {
    await changeCluster(of, () => ({ version }), dryRun)
    if (!dryRun) {
      tell(`Cluster ${of.cluster} is being upgraded to ${version}`)
      askAgain()
    }
    return `The control plane would go from ${current} to ${version}.`
  }
  return (
    <FormDialog
      title={`Upgrade cluster ${of.cluster}`}
      about={`It runs ${current}. The version can be raised by a patch or by one minor, and not lowered.`}
      act="Upgrade"
      check={{ of: version ?? '', atOnce: true }}
      run={run}
      isIncomplete={!version}
      close={close}
    >
      <ProblemAlert error={releases.error} again={() => void releases.refetch()} />
      {releases.data && offered.length === 0 && (
        <Alert component="p" isInline variant="info" title={`There is no release to which ${current} can be raised`}>
          An administrator adds releases with <code>kqueen release build</code>.
        </Alert>
      )}
      {offered.length > 0 && (
        <>
          <ChoiceField
            label="Version"
            value={version ?? ''}
            onChange={setChosen}
            choices={offered.map((name) => ({ value: name, text: name }))}
          />
          <p>
            The API server restarts. Node pools that name no version of their own follow: their nodes are replaced one
            after another, and pods leave a node before it goes. What is only on the disk of a node is lost.
          </p>
        </>
      )}
    </FormDialog>
  )
}
