import { Button, PageSection, Skeleton, Tab, Tabs, TabTitleText } from '@patternfly/react-core'
import { Link, useParams } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense } from 'react'
import { ApiError } from '../../api/client'
import { useLive } from '../../api/live'
import type { Cluster } from '../../api/objects'
import { useUrlState } from '../../app/urlstate'
import { isAdopted } from '../../logic/cluster'
import { Empty } from '../../ui/empty'
import { HealthLabel } from '../../ui/health'
import { PageHead } from '../../ui/page'
import { ProblemAlert } from '../../ui/problem'
import { Simulated } from '../../ui/simulated'
import { Actions } from './actions'
import { Activity } from './activity'
import { Addons } from './addons'
import { Connect } from './connect'
import { ContainerActions } from './containeractions'
import { type Of, useCluster } from './data'
import { Nodes } from './nodes'
import { Overview } from './overview'
import { Topology } from './topology'
import { Workloads } from './workloads'

const Document = lazy(() => import('./document'))

export interface TabProps {
  of: Of
  cluster: Cluster
}

interface TabOf {
  key: string
  name: string
  show: (props: TabProps) => ReactNode
  /** Only for clusters whose nodes KQueen runs. */
  own?: boolean
}

const overview: TabOf = { key: 'overview', name: 'Overview', show: (props) => <Overview {...props} /> }

const tabs: TabOf[] = [
  overview,
  { key: 'nodes', name: 'Nodes', show: (props) => <Nodes {...props} />, own: true },
  {
    key: 'workloads',
    name: 'Workloads',
    show: (props) => <Workloads {...props} actions={(container) => <ContainerActions of={container} />} />,
  },
  { key: 'topology', name: 'Topology', show: (props) => <Topology {...props} /> },
  { key: 'addons', name: 'Addons', show: (props) => <Addons {...props} />, own: true },
  { key: 'activity', name: 'Activity', show: (props) => <Activity {...props} /> },
  { key: 'connect', name: 'Connect', show: (props) => <Connect {...props} /> },
  { key: 'yaml', name: 'YAML', show: (props) => <Document {...props} /> },
]

/** What is chosen in one tab says nothing in another one. */
const ofOneTab = { ns: undefined, pool: undefined, list: undefined, kind: undefined, view: undefined, all: undefined }

export default function Page() {
  const of = useParams({ from: '/organizations/$organization/clusters/$cluster' })
  const base = `/api/v1/organizations/${encodeURIComponent(of.organization)}`
  const live = useLive(`${base}/clusters?name=${encodeURIComponent(of.cluster)}`, [
    ['clusters', of.organization],
    ['operations', of.organization],
    ['addons', of.organization],
  ])
  const query = useCluster(of)
  const cluster = query.data?.object
  const gone = query.error instanceof ApiError && query.error.status === 404
  const above = [
    { to: '/clusters', name: 'Clusters' },
    { to: `/organizations/${of.organization}`, name: of.organization },
  ]
  return (
    <>
      <PageHead
        title={of.cluster}
        about={aboutOf(of, gone ? undefined : cluster)}
        above={above}
        mark={
          cluster &&
          !gone && (
            <>
              <HealthLabel of={cluster} isCompact={false} /> <Simulated of={cluster} />
            </>
          )
        }
        live={live}
        actions={cluster && !gone && <Actions of={of} cluster={cluster} />}
      />
      {gone ? (
        <Gone of={of} />
      ) : (
        <>
          {query.error && (
            <PageSection>
              <ProblemAlert error={query.error} again={() => void query.refetch()} />
            </PageSection>
          )}
          {cluster && <Tabbed key={cluster.uid} of={of} cluster={cluster} />}
          {query.isPending && (
            <PageSection>
              <Skeleton screenreaderText="Loading the cluster" height="12rem" />
            </PageSection>
          )}
        </>
      )}
    </>
  )
}

function aboutOf(of: Of, cluster?: Cluster): string {
  if (!cluster) return `A cluster of the organization ${of.organization}.`
  if (isAdopted(cluster))
    return `A cluster of the organization ${of.organization} that others run and KQueen has adopted.`
  return `Kubernetes ${cluster.status?.version ?? cluster.spec?.version} for the organization ${of.organization}.`
}

function Tabbed({ of, cluster }: TabProps) {
  const [state, set] = useUrlState()
  const shown = tabs.filter((tab) => !tab.own || !isAdopted(cluster))
  const active = shown.find((tab) => tab.key === state.tab) ?? overview
  const choose = (key: string | number) =>
    set({ ...ofOneTab, cursor: undefined, tab: key === 'overview' ? undefined : String(key) })
  return (
    <PageSection type="tabs">
      <Tabs
        activeKey={active.key}
        onSelect={(_, key) => choose(key)}
        aria-label="What of the cluster"
        usePageInsets
        mountOnEnter
        unmountOnExit
      >
        {shown.map((tab) => (
          <Tab key={tab.key} eventKey={tab.key} title={<TabTitleText>{tab.name}</TabTitleText>}>
            <PageSection>
              {tab.key === active.key && (
                <Suspense fallback={<Skeleton screenreaderText="Loading" height="12rem" />}>
                  {tab.show({ of, cluster })}
                </Suspense>
              )}
            </PageSection>
          </Tab>
        ))}
      </Tabs>
    </PageSection>
  )
}

function Gone({ of }: { of: Of }) {
  return (
    <PageSection>
      <Empty
        title={`There is no cluster ${of.cluster} that you may see`}
        actions={
          <Button variant="link" component={(props) => <Link {...props} to="/clusters" search={{}} />}>
            Show all clusters
          </Button>
        }
      >
        It may have been deleted, or you are no member of the organization {of.organization}.
      </Empty>
    </PageSection>
  )
}
