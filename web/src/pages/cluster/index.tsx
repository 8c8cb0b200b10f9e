import { Button, PageSection, Skeleton } from '@patternfly/react-core'
import { Link, useParams } from '@tanstack/react-router'
import { lazy, type ReactNode } from 'react'
import { ApiError } from '../../api/client'
import { useLive } from '../../api/live'
import type { Cluster } from '../../api/objects'
import { isAdopted } from '../../logic/cluster'
import { Empty } from '../../ui/empty'
import { HealthLabel } from '../../ui/health'
import { PageHead } from '../../ui/page'
import { ProblemAlert } from '../../ui/problem'
import { Simulated } from '../../ui/simulated'
import { Tabs } from '../../ui/tabs'
import { Actions } from './actions'
import { Activity } from './activity'
import { Addons } from './addons'
import { Backups } from './backups'
import { Connect } from './connect'
import { ContainerActions } from './containeractions'
import { type Of, useCluster } from './data'
import { Nodes } from './nodes'
import { Overview } from './overview'
import { Rotations } from './rotations'
import { Topology } from './topology'
import { Upgrades } from './upgrades'
import { Workloads } from './workloads'

const Document = lazy(() => import('./document'))

export interface TabProps {
  of: Of
  cluster: Cluster
}

interface Part {
  key: string
  title: string
  show: (props: TabProps) => ReactNode
  /** Only for clusters whose nodes KQueen runs. */
  own?: boolean
}

const parts: Part[] = [
  { key: 'overview', title: 'Overview', show: (props) => <Overview {...props} /> },
  { key: 'nodes', title: 'Nodes', show: (props) => <Nodes {...props} />, own: true },
  {
    key: 'workloads',
    title: 'Workloads',
    show: (props) => <Workloads {...props} actions={(container) => <ContainerActions of={container} />} />,
  },
  { key: 'topology', title: 'Topology', show: (props) => <Topology {...props} /> },
  { key: 'addons', title: 'Addons', show: (props) => <Addons {...props} />, own: true },
  { key: 'upgrades', title: 'Upgrades', show: (props) => <Upgrades {...props} />, own: true },
  { key: 'backups', title: 'Backups', show: (props) => <Backups {...props} /> },
  { key: 'credentials', title: 'Credentials', show: (props) => <Rotations {...props} />, own: true },
  { key: 'activity', title: 'Activity', show: (props) => <Activity {...props} /> },
  { key: 'connect', title: 'Connect', show: (props) => <Connect {...props} /> },
  { key: 'yaml', title: 'YAML', show: (props) => <Document {...props} /> },
]

const ofOnePart = ['ns', 'pool', 'list', 'kind', 'view', 'all']

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
          {cluster && <Parts key={cluster.uid} of={of} cluster={cluster} />}
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

function Parts({ of, cluster }: TabProps) {
  const shown = parts.filter((part) => !part.own || !isAdopted(cluster))
  return (
    <Tabs
      label="What of the cluster"
      tabs={shown.map(({ key, title, show }) => ({ key, title, content: () => show({ of, cluster }) }))}
      forget={ofOnePart}
    />
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
