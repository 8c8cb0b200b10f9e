import {
  Alert,
  Button,
  Card,
  CardBody,
  CardHeader,
  CardTitle,
  Progress,
  ProgressMeasureLocation,
  Skeleton,
} from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { api, ok, type Schemas } from '../../api/client'
import { mostInDetail, readable } from '../../logic/foreign'
import { bytes, cores, count } from '../../logic/quantity'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import { ProblemAlert } from '../../ui/problem'
import type { TabProps } from './index'

type NodeUsage = Schemas['NodeUsage']

/** Capacity asks the cluster itself what its nodes have and what is used; the page does not wait for it. */
export function Capacity({ of, cluster }: TabProps) {
  const usage = useQuery({
    queryKey: ['usage', of.organization, of.cluster],
    queryFn: () =>
      ok(api.GET('/api/v1/organizations/{organization}/clusters/{cluster}/usage', { params: { path: of } })),
    enabled: !cluster.deletionRequestedAt,
    retry: false,
    refetchInterval: 60_000,
    refetchOnWindowFocus: false,
  })
  if (cluster.deletionRequestedAt) return null
  return (
    <Card>
      <CardHeader
        actions={{
          hasNoOffset: true,
          actions: (
            <Button variant="link" isInline isLoading={usage.isFetching} onClick={() => void usage.refetch()}>
              Refresh
            </Button>
          ),
        }}
      >
        <CardTitle component="h2">Capacity</CardTitle>
        {usage.data && (
          <span className="kq-quiet kq-small">
            as of <Age at={usage.data.asOf} />
          </span>
        )}
      </CardHeader>
      <CardBody>
        <ProblemAlert
          title="The cluster did not say what it has"
          error={usage.error}
          again={() => void usage.refetch()}
        />
        {usage.isPending && <Skeleton screenreaderText="Asking the cluster" height="6rem" />}
        {usage.data && <Shown usage={usage.data} />}
      </CardBody>
    </Card>
  )
}

function Shown({ usage }: { usage: Schemas['ClusterUsage'] }) {
  const { total } = usage
  const nodes = usage.nodes ?? []
  return (
    <>
      {usage.notRead?.map((not) => (
        <Alert
          component="p"
          key={not.resource}
          isInline
          isPlain
          variant="warning"
          title={`${readable(not.resource)} could not be read: ${readable(not.reason, mostInDetail)}`}
        />
      ))}
      {nodes.length > 0 && (
        <div className="pf-v6-l-grid pf-m-gutter pf-m-all-6-col-on-md">
          <Bar name="CPU requested" part={total.requests.milliCPU} whole={total.allocatable.milliCPU} words={cores} />
          <Bar name="Memory requested" part={total.requests.memory} whole={total.allocatable.memory} words={bytes} />
          {total.used && (
            <Bar name="CPU used" part={total.used.milliCPU} whole={total.allocatable.milliCPU} words={cores} />
          )}
          {total.used && (
            <Bar name="Memory used" part={total.used.memory} whole={total.allocatable.memory} words={bytes} />
          )}
        </div>
      )}
      <p className="kq-quiet kq-small">
        {count(total.pods, 'pod')} on {count(nodes.length, 'node')}
        {usage.unscheduled.pods > 0 && `; ${count(usage.unscheduled.pods, 'pod')} without a node`}.{' '}
        {usage.unmeasured && 'What is used is not known: '}
        <Foreign text={usage.unmeasured} detail />
      </p>
      <DataTable
        label="Capacity of the nodes"
        columns={columns}
        rows={nodes.slice(0, 50)}
        keyOf={(node) => node.node}
        empty={<p>The cluster has no nodes.</p>}
      />
      {nodes.length > 50 && <p className="kq-quiet">The first 50 of {count(nodes.length, 'node')}.</p>}
    </>
  )
}

const columns: Column<NodeUsage>[] = [
  { name: 'Node', cell: (n) => n.node, modifier: 'breakWord' },
  { name: 'Pods', cell: (n) => `${n.pods} of ${n.allocatable.pods}` },
  { name: 'CPU requested', cell: (n) => `${cores(n.requests.milliCPU)} of ${cores(n.allocatable.milliCPU)}` },
  { name: 'CPU used', cell: (n) => (n.used ? cores(n.used.milliCPU) : 'not measured') },
  { name: 'Memory requested', cell: (n) => `${bytes(n.requests.memory)} of ${bytes(n.allocatable.memory)}` },
  { name: 'Memory used', cell: (n) => (n.used ? bytes(n.used.memory) : 'not measured') },
]

function Bar(props: { name: string; part: number; whole: number; words: (n: number) => string }) {
  const percent = props.whole > 0 ? Math.min(100, Math.round((props.part / props.whole) * 100)) : 0
  return (
    <Progress
      title={props.name}
      value={percent}
      label={`${props.words(props.part)} of ${props.words(props.whole)}`}
      valueText={`${percent} %`}
      measureLocation={ProgressMeasureLocation.top}
      variant={percent >= 95 ? 'danger' : percent >= 80 ? 'warning' : undefined}
      size="sm"
    />
  )
}
