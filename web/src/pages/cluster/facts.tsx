import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  Label,
  LabelGroup,
} from '@patternfly/react-core'
import type { ReactNode } from 'react'
import type { Cluster } from '../../api/objects'
import { isAdopted } from '../../logic/cluster'
import { readable } from '../../logic/foreign'
import { Age } from '../../ui/age'
import { Foreign, foreign } from '../../ui/foreign'

const cnis: Record<string, string> = {
  Routes: 'Routes: between the machines that KQueen creates',
  Flannel: 'Flannel (VXLAN)',
  None: 'None: you install your own',
}

/** Facts is what a cluster is and has. */
export function Facts({ cluster }: { cluster: Cluster }) {
  const provisioner = cluster.spec?.provisionerRef
  const status = cluster.status ?? {}
  const labels = Object.entries(cluster.labels ?? {})
  const shared = provisioner?.namespace === 'kqueen-system'
  const rows: [string, ReactNode][] = [
    ['Version', versions(cluster)],
    ['Provisioner', provisioner && `${provisioner.name}${shared ? ' (shared by all organizations)' : ''}`],
    ['API server', status.endpoint],
    ['Created', <Age key="created" at={cluster.createdAt} />],
    ['Deletion', cluster.deletionRequestedAt && <Age key="deletion" at={cluster.deletionRequestedAt} />],
    ...(isAdopted(cluster) ? [] : settings(cluster)),
    ['Applications', applications(cluster)],
    ['Labels', labels.length > 0 && labelsOf(labels)],
  ]
  return (
    <DescriptionList isCompact isHorizontal>
      {rows
        .filter(([, value]) => value)
        .map(([name, value]) => (
          <DescriptionListGroup key={name}>
            <DescriptionListTerm>{name}</DescriptionListTerm>
            <DescriptionListDescription className="kq-wrap">{foreign(value, true)}</DescriptionListDescription>
          </DescriptionListGroup>
        ))}
    </DescriptionList>
  )
}

function versions(cluster: Cluster): ReactNode {
  const wanted = cluster.spec?.version
  const has = cluster.status?.version
  if (!has) return wanted ? `${wanted} (not running yet)` : 'not known yet'
  return wanted && has !== wanted ? `${has}, on the way to ${wanted}` : has
}

function settings(cluster: Cluster): [string, ReactNode][] {
  const { cni, network, podSecurity, auditLog } = cluster.spec ?? {}
  return [
    ['Pod network', cni && (cnis[cni] ?? cni)],
    ['Pods', network?.podCIDR],
    ['Services', network?.serviceCIDR],
    ['DNS domain', network?.dnsDomain],
    ['More names', network?.extraSANs?.join(', ')],
    ['Pod security', podSecurity ?? 'baseline; privileged if the cluster is older than levels'],
    ['Audit log', auditLog],
  ]
}

function applications(cluster: Cluster): ReactNode {
  const ingress = cluster.status?.ingress
  if (!ingress) return null
  const names = (ingress.domains ?? []).map((domain) => `*.${domain}`)
  return (
    <>
      {names.map((name) => (
        <div key={name}>
          <Foreign text={name} />
        </div>
      ))}
      {ingress.port !== undefined && (
        <div className="kq-quiet kq-small">at port {ingress.port} of KQueen’s host, HTTPS and HTTP</div>
      )}
    </>
  )
}

function labelsOf(labels: [string, string][]): ReactNode {
  return (
    <LabelGroup aria-label="Labels of the cluster" numLabels={8}>
      {labels.map(([key, value]) => (
        <Label key={key} isCompact textMaxWidth="24ch">
          {readable(value ? `${key}=${value}` : key)}
        </Label>
      ))}
    </LabelGroup>
  )
}
