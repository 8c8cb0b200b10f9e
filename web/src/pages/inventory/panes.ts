import type { ViewName } from '../../logic/inventory'
import { Binaries } from './binaries'
import { Containers } from './containers'
import { Images } from './images'
import { Nodes, Workloads } from './objects'
import { Certificates, Findings, KnownClusters } from './state'

export const panes: Record<ViewName, React.ComponentType> = {
  images: Images,
  binaries: Binaries,
  containers: Containers,
  nodes: Nodes,
  workloads: Workloads,
  certificates: Certificates,
  findings: Findings,
  clusters: KnownClusters,
}
