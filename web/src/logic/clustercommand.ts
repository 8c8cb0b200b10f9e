import { type Draft, nameOf, organizationOf, systemNamespace } from './clusterdocument'
import { toYaml } from './clusteryaml'
import { shellWord } from './shell'

const flags: Record<string, string> = {
  'spec/version': 'version',
  'spec/provisionerRef/name': 'provisioner',
  'spec/provisionerRef/namespace': 'provisioner-namespace',
  'spec/network/podCIDR': 'pod-cidr',
  'spec/network/serviceCIDR': 'service-cidr',
  'spec/network/dnsDomain': 'dns-domain',
  'spec/cni': 'cni',
  'spec/podSecurity': 'pod-security',
}

/** leavesOf lists the values of an object by their paths; lists are values. */
function leavesOf(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([key, one]) => leavesOf(one, path ? `${path}/${key}` : key))
}

/** poolFlags are those of a pool that `cluster create --nodes` makes, or undefined where it cannot make that pool. */
function poolFlags(draft: Draft): string[] | undefined {
  if (!draft.pool) return []
  const name = nameOf(draft)
  const spec = (draft.pool.spec ?? {}) as Record<string, unknown>
  const replicas = spec.replicas ?? 1
  const plain = draft.pool.metadata.name === name && !draft.pool.metadata.labels && !draft.pool.metadata.annotations
  const rest = leavesOf(spec, '').filter(
    ([path, value]) =>
      !['clusterName', 'replicas'].includes(path) && !(path === 'template/provider' && value === 'local'),
  )
  return plain && rest.length === 0 && Number(replicas) > 0 ? ['--nodes', String(replicas)] : undefined
}

function clusterFlags(draft: Draft): string[] | undefined {
  const { labels, annotations } = draft.cluster.metadata
  if (labels || annotations) return undefined
  const said: string[] = []
  for (const [path, value] of leavesOf({ spec: draft.cluster.spec ?? {} }, '')) {
    if (path === 'spec/provisionerRef/namespace' && value === systemNamespace) continue
    const flag = flags[path]
    if (flag) said.push(`--${flag}`, shellWord(String(value)))
    else if (path === 'spec/network/extraSANs' && Array.isArray(value))
      said.push('--extra-san', shellWord(value.map(String).join(',')))
    else if (path === 'spec/addons' && Array.isArray(value)) {
      for (const one of value as { name: string; enabled?: boolean; values?: unknown }[]) {
        if (one.values !== undefined || one.enabled === undefined) return undefined
        said.push('--addon', shellWord(`${one.name}=${one.enabled ? 'on' : 'off'}`))
      }
    } else return undefined
  }
  return said
}

/** commandOf is the command line that creates what a draft says: by flags where there are flags for all of it, else from a file. */
export function commandOf(draft: Draft): string {
  const cluster = clusterFlags(draft)
  const pool = poolFlags(draft)
  const organization = ['--org', shellWord(organizationOf(draft) || 'ORGANIZATION')]
  const name = nameOf(draft)
  if (cluster && pool) {
    return ['kqueen cluster create', shellWord(name || 'NAME'), ...organization, ...cluster, ...pool].join(' ')
  }
  return `kqueen apply ${organization.join(' ')} -f - <<'EOF'\n${toYaml(draft)}EOF`
}
