import { Label, LabelGroup } from '@patternfly/react-core'
import { api, ok, type Schemas } from '../../api/client'
import { readable } from '../../logic/foreign'
import type { Query } from '../../logic/inventory'
import { bytes, cores } from '../../logic/quantity'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { ClusterCell, ReadyLabel, Wrapped } from './cells'
import { Pane } from './pane'

type Node = Schemas['InventoryNode']
type Workload = Schemas['InventoryWorkload']
type Place = { clusterUID: string; organization: string; cluster: string; live: boolean; asOf?: string }

const cluster: Column<Place> = { name: 'Cluster', cell: (row) => <ClusterCell of={row} /> }

const ofNodes: Column<Node>[] = [
  cluster,
  { name: 'Node', cell: (row) => <Wrapped text={row.node} /> },
  {
    name: 'Ready',
    cell: (row) => (
      <>
        <ReadyLabel ready={row.ready} />
        {row.unschedulable && <span className="kq-row-note">cordoned</span>}
        {(row.pressure ?? []).map((one) => (
          <span key={one} className="kq-row-note">
            {readable(one)}
          </span>
        ))}
        {row.ready !== 'True' && row.message && <Wrapped text="" note={row.message} />}
      </>
    ),
  },
  { name: 'Kubelet', cell: (row) => <Wrapped text={row.kubeletVersion} note={row.runtime} /> },
  {
    name: 'Operating system',
    cell: (row) => <Wrapped text={row.os} note={[row.kernel, row.architecture].filter(Boolean).join(', ')} />,
  },
  {
    name: 'Allocatable',
    cell: ({ allocatable }) => (
      <Wrapped
        text={`${cores(allocatable.milliCPU)} CPU, ${bytes(allocatable.memory)}`}
        note={`${allocatable.pods} pods`}
      />
    ),
  },
  { name: 'Since', cell: (row) => <Age at={row.since} />, modifier: 'nowrap' },
]

const readNodes = (query: Query) => ok(api.GET('/api/v1/inventory/nodes', { params: { query } }))

export function Nodes() {
  return (
    <Pane
      view="nodes"
      columns={ofNodes}
      keyOf={(row) => row.clusterUID + row.node}
      read={readNodes}
      none="No node is known"
    />
  )
}

const ofWorkloads: Column<Workload>[] = [
  cluster,
  { name: 'Namespace', cell: (row) => <Wrapped text={row.namespace} /> },
  { name: 'Kind', cell: (row) => row.kind },
  { name: 'Name', cell: (row) => <Wrapped text={row.name} /> },
  { name: 'Pods ready', cell: (row) => <PodsReady ready={row.ready} desired={row.desired} /> },
  { name: 'Labels', cell: (row) => <Labels of={row.labels} />, width: 25 },
  { name: 'Since', cell: (row) => <Age at={row.since} />, modifier: 'nowrap' },
]

function PodsReady({ ready, desired }: { ready: number; desired: number }) {
  const text = `${ready}/${desired}`
  if (ready >= desired) return <span>{text}</span>
  return (
    <Label isCompact status="warning">
      {text}
    </Label>
  )
}

/** Labels shows the first labels of something, and the others when one asks. */
export function Labels({ of }: { of?: Record<string, string> }) {
  const all = Object.entries(of ?? {})
  if (all.length === 0) return <span>–</span>
  return (
    <LabelGroup numLabels={2} aria-label="Labels">
      {all.map(([key, value]) => (
        <Label key={key} isCompact variant="outline" textMaxWidth="16rem">
          {readable(value ? `${key}=${value}` : key)}
        </Label>
      ))}
    </LabelGroup>
  )
}

const readWorkloads = (query: Query) => ok(api.GET('/api/v1/inventory/workloads', { params: { query } }))

export function Workloads() {
  return (
    <Pane
      view="workloads"
      columns={ofWorkloads}
      keyOf={(row) => [row.clusterUID, row.namespace, row.kind, row.name].join(' ')}
      read={readWorkloads}
      none="No workload is known"
    />
  )
}
