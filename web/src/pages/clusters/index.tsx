import { PageSection } from '@patternfly/react-core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { useLive } from '../../api/live'
import type { Cluster } from '../../api/objects'
import { useUrlState } from '../../app/urlstate'
import { isFiltered } from '../../logic/clusterfilters'
import { shellWord } from '../../logic/shell'
import { FromCli } from '../../ui/fromcli'
import { PageHead } from '../../ui/page'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'
import { Begin } from './begin'
import { Deletion } from './deletion'
import { clustersQuery, listOf } from './list'
import { NoClusters } from './none'
import { ClusterTable } from './table'
import { Filters } from './toolbar'

export default function ClustersPage() {
  const [state, set] = useUrlState()
  const { org, cursor } = state
  const { path, sort, query } = listOf(state)
  const list = useQuery({ ...clustersQuery(state), placeholderData: keepPreviousData })
  const live = useLive(path, [['clusters']])
  const [chosen, setChosen] = useState<Record<string, Cluster>>({})
  const [deleting, setDeleting] = useState<Cluster[]>()
  const setSort = useCallback((by: string) => set({ sort: by === 'name' ? undefined : by }), [set])
  const rows = list.data?.items
  return (
    <>
      <PageHead
        title="Clusters"
        about={org ? `All clusters of the organization ${org}.` : 'All clusters of your organizations.'}
        live={live}
        actions={
          <>
            <Begin />
            <FromCli lines={linesOf(org, state.labels)} calls={[{ method: 'GET', path: path + searchOf(query) }]} />
          </>
        }
      />
      <PageSection>
        <Filters
          rows={rows ?? []}
          chosen={chosen}
          setChosen={setChosen}
          deleteChosen={() => setDeleting(Object.values(chosen))}
        />
        <ProblemAlert error={list.error} again={() => void list.refetch()} />
        {!(list.isError && !rows) && (
          <ClusterTable
            rows={rows}
            sort={sort}
            setSort={setSort}
            chosen={chosen}
            setChosen={setChosen}
            empty={<NoClusters filtered={isFiltered(state) || cursor !== undefined} organization={org} />}
          />
        )}
        <Pager next={list.data?.cursor} />
      </PageSection>
      {deleting && (
        <Deletion
          clusters={deleting}
          close={(gone) => {
            setDeleting(undefined)
            setChosen((now) => Object.fromEntries(Object.entries(now).filter(([uid]) => !gone.includes(uid))))
          }}
        />
      )}
    </>
  )
}

function linesOf(org: string | undefined, labels: string | undefined) {
  const where = org ? `--org ${shellWord(org)}` : '--all-organizations'
  const selector = labels ? ` --selector ${shellWord(labels)}` : ''
  return [
    { about: 'List clusters:', command: `kqueen cluster list ${where}${selector}` },
    { about: 'Follow changes:', command: `kqueen cluster list ${where}${selector} --watch` },
    {
      about: 'Delete a cluster, after asking:',
      command: `kqueen cluster delete NAME --org ${shellWord(org ?? 'ORGANIZATION')}`,
    },
  ]
}

function searchOf(query: Record<string, unknown>): string {
  const said = Object.entries(query).filter(([, value]) => value !== undefined)
  return `?${new URLSearchParams(said.map(([key, value]) => [key, String(value)]))}`
}
