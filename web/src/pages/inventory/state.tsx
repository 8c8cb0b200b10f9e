import { Label } from '@patternfly/react-core'
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon'
import DisconnectedIcon from '@patternfly/react-icons/dist/esm/icons/disconnected-icon'
import { api, ok, type Schemas } from '../../api/client'
import type { Query } from '../../logic/inventory'
import { Age, useNow } from '../../ui/age'
import { ClusterLink } from '../../ui/dataage'
import type { Column } from '../../ui/datatable'
import { SeverityLabel } from '../../ui/severity'
import { ClusterCell, Wrapped } from './cells'
import { Labels } from './objects'
import { Pane } from './pane'

type Certificate = Schemas['InventoryCertificate']
type Finding = Schemas['InventoryFinding']
type Known = Schemas['InventoryCluster']

/** Within how many milliseconds an expiry is soon: 30 days. */
const soon = 30 * 86_400_000

function Expiry({ at }: { at?: string }) {
  const now = useNow()
  if (!at) return <span>not known</span>
  const left = new Date(at).getTime() - now.getTime()
  if (left > soon) return <Age at={at} />
  return (
    <Label isCompact status={left < 0 ? 'danger' : 'warning'}>
      {left < 0 ? 'Expired' : 'Soon'}: <Age at={at} />
    </Label>
  )
}

const ofCertificates: Column<Certificate>[] = [
  { name: 'Cluster', cell: (row) => <ClusterCell of={row} /> },
  {
    name: 'Name',
    cell: (row) => (
      <Wrapped text={row.name} note={row.namespace ? `${row.source} in ${row.namespace}` : `of the ${row.source}`} />
    ),
  },
  { name: 'Subject', cell: (row) => <Wrapped text={row.subject} note={row.issuer && `issued by ${row.issuer}`} /> },
  { name: 'DNS names', cell: (row) => <Wrapped text={(row.dnsNames ?? []).join(', ')} />, width: 30 },
  { name: 'Expires', cell: (row) => <Expiry at={row.expiresAt} />, modifier: 'nowrap' },
]

const readCertificates = (query: Query) => ok(api.GET('/api/v1/inventory/certificates', { params: { query } }))

export function Certificates() {
  return (
    <Pane
      view="certificates"
      columns={ofCertificates}
      keyOf={(row) => [row.clusterUID, row.source, row.namespace, row.name].join(' ')}
      read={readCertificates}
      none="No certificate is known"
    />
  )
}

/** subject names what a finding is about: DaemonSet kube-system/agent, container agent. */
function subject(row: Finding): string {
  const name = [row.namespace, row.name].filter(Boolean).join('/')
  return [[row.kind, name].filter(Boolean).join(' '), row.part].filter(Boolean).join(', ')
}

const ofFindings: Column<Finding>[] = [
  { name: 'Severity', cell: (row) => <SeverityLabel severity={row.severity} /> },
  { name: 'Cluster', cell: (row) => <ClusterCell of={row} /> },
  { name: 'Object', cell: (row) => <Wrapped text={subject(row)} note={row.rule} />, width: 20 },
  { name: 'Reason', cell: (row) => <Wrapped text={row.reason} />, width: 25 },
  { name: 'Remedy', cell: (row) => <Wrapped text={row.remedy} />, width: 25 },
  { name: 'Since', cell: (row) => <Age at={row.since} />, modifier: 'nowrap' },
]

const readFindings = (query: Query) => ok(api.GET('/api/v1/inventory/findings', { params: { query } }))

export function Findings() {
  return (
    <Pane
      view="findings"
      columns={ofFindings}
      keyOf={(row) => [row.clusterUID, row.rule, row.kind, row.namespace, row.name, row.part].join(' ')}
      read={readFindings}
      none="Nothing deserves attention"
    />
  )
}

const ofClusters: Column<Known>[] = [
  { name: 'Cluster', cell: (row) => <ClusterLink organization={row.organization} cluster={row.cluster} /> },
  { name: 'State', cell: (row) => <LiveLabel of={row} /> },
  { name: 'As of', cell: (row) => (row.live ? 'now' : <Age at={row.asOf} none="never seen" />), modifier: 'nowrap' },
  { name: 'Known since', cell: (row) => <Age at={row.firstSeenAt} />, modifier: 'nowrap' },
  { name: 'Labels', cell: (row) => <Labels of={row.labels} /> },
  { name: 'Why', cell: (row) => <Wrapped text={row.message} />, width: 30 },
]

function LiveLabel({ of }: { of: Known }) {
  if (of.endedAt) return <Label isCompact>Gone</Label>
  if (of.live)
    return (
      <Label isCompact status="success" icon={<CheckCircleIcon />}>
        Live
      </Label>
    )
  return (
    <Label isCompact status="warning" icon={<DisconnectedIcon />}>
      Not connected
    </Label>
  )
}

const readClusters = (query: Query) => ok(api.GET('/api/v1/inventory/clusters', { params: { query } }))

export function KnownClusters() {
  return (
    <Pane
      view="clusters"
      columns={ofClusters}
      keyOf={(row) => row.uid}
      read={readClusters}
      none="No cluster is known"
    />
  )
}
