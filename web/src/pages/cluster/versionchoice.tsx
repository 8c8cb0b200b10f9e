import { Alert } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Cluster } from '../../api/objects'
import { releasesQuery } from '../../app/catalogue'
import { upgradesFrom } from '../../logic/upgrade'
import { ChoiceField } from '../../ui/field'
import { ProblemAlert } from '../../ui/problem'

/** versionNow is the version of a cluster. */
export const versionNow = (cluster: Cluster) => cluster.status?.version ?? cluster.spec?.version

/** useVersionChoice is a field in which a later version of a cluster is chosen, and what was chosen. */
export function useVersionChoice(cluster: Cluster) {
  const current = versionNow(cluster)
  const releases = useQuery(releasesQuery)
  const offered = upgradesFrom(current, releases.data?.items ?? [])
  const [chosen, setChosen] = useState<string>()
  const version = chosen ?? offered[0]
  const field = (
    <>
      <ProblemAlert error={releases.error} again={() => void releases.refetch()} />
      {releases.data && offered.length === 0 && (
        <Alert component="p" isInline variant="info" title={`There is no release to which ${current} can be raised`}>
          An administrator adds releases with <code>kqueen release build</code>.
        </Alert>
      )}
      {version && (
        <ChoiceField
          label="Version"
          value={version}
          onChange={setChosen}
          choices={offered.map((name) => ({ value: name, text: name }))}
        />
      )}
    </>
  )
  return { version, field }
}
