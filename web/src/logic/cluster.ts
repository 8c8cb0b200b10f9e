import type { Me } from '../api/client'
import { type Cluster, type Condition, condition, conditionsOf } from '../api/objects'
import { may, type Permission, type Role } from './roles'

/** isAdopted says whether others run a cluster: those that KQueen creates name a version. */
export function isAdopted(cluster: Cluster): boolean {
  return !cluster.spec?.version
}

export interface Part {
  type: string
  /** What the condition says, in plain words. */
  title: string
  state: 'good' | 'working' | 'bad' | 'unknown'
  /** Why, in the words of the controller. */
  message: string
  since?: string
}

const parts: [type: string, good: string, working: string, bad: string][] = [
  [
    'Accepted',
    'A provisioner has taken the cluster',
    'The provisioner has not taken the cluster yet',
    'No provisioner takes the cluster',
  ],
  [
    'Provisioned',
    'The cluster exists and its API server is healthy',
    'The provisioner is at work',
    'The cluster is not there, or not healthy',
  ],
  ['KubeconfigReady', 'Users can connect', 'Users cannot connect yet', 'Users cannot connect'],
  ['AddonsReady', 'All addons are ready', 'Some addons are not ready yet', 'Some addons are not ready'],
  ['WorkersGone', 'All nodes are gone', 'Nodes are being removed', 'Nodes are not removed'],
  ['Ready', 'The cluster is ready', 'The cluster is not ready yet', 'The cluster is not ready'],
]

const goesOn = new Set([
  'Provisioning',
  'Progressing',
  'AddonsProgressing',
  'KubeconfigPending',
  'Deprovisioning',
  'WorkersRemaining',
  'Deleting',
  'AgentPending',
  'Retrying',
  'Asleep',
])

/** partsOf reads the conditions of a cluster in the order in which they come true. */
export function partsOf(cluster: Cluster): Part[] {
  return parts.flatMap(([type, good, working, bad]) => {
    const c = condition(cluster, type)
    if (!c) return []
    const state = stateOf(c, cluster.deletionRequestedAt !== undefined)
    const title = { good, working, bad, unknown: `Not known: ${lower(good)}` }[state]
    return [{ type, title, state, message: c.message, since: c.lastTransitionTime }]
  })
}

function lower(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1)
}

/** While a cluster is being deleted, what is not so any more is as it should be. */
function stateOf(c: Condition, deleting: boolean): Part['state'] {
  if (c.status === 'True') return 'good'
  if (c.status === 'Unknown') return 'unknown'
  return deleting || goesOn.has(c.reason) ? 'working' : 'bad'
}

const steps: Record<string, string> = {
  ProvisionerNotFound: 'Create the provisioner again, under the same name. What runs goes on running.',
  ProvisionerNotReady: 'Put the provisioner right; it is tried again within a minute. What runs goes on running.',
  ProvisionerChanged:
    'Set the former parameters or credentials of the provisioner again. Nothing is created a second time.',
  ProvisionerUnreachable: 'Nothing to do here: it is tried again by itself. Look at what the provisioner asks.',
  InsufficientCapacity: 'Free capacity or raise the quota of the provisioner’s account; it is tried again by itself.',
  Refused: 'Change the field that the message names, in the tab YAML.',
  ProvisionerFailed: 'Change what the message names; it is then tried again.',
  Degraded: 'Its components are restarted by themselves. If it lasts, look at the tab Activity.',
  CredentialsMissing: 'Set the kubeconfig by which KQueen reaches the cluster, or start an agent in it.',
  CredentialsRefused: 'Set a new kubeconfig: the cluster refuses the one that was set.',
  AgentPending: 'Start the agent in the cluster, with the command that the message names.',
  Offline: 'See whether the agent in the cluster runs and reaches KQueen.',
  AddonsFailed: 'See the addon that the message names, in the tab Addons.',
  AddonsUnreachable: 'See whether the API server of the cluster answers.',
  AddonsProgressing: 'Wait; the addons need a node that is ready. The tab Nodes says how the nodes are.',
  KubeconfigPending: 'Wait: the kubeconfig comes as soon as the cluster has an address.',
  Asleep: 'Nothing: a client that connects wakes it, and is answered when it is awake. The button Wake does so, too.',
  WorkersRemaining: 'Wait: pods leave the nodes before these are removed. The tab Nodes says how far it is.',
}

/** nextStep says what a user can do about a cluster that is not as it should be: of the first condition that is not true. */
export function nextStep(cluster: Cluster): string | undefined {
  const wanted = parts.map(([type]) => type).filter((type) => type !== 'Ready')
  const broken = conditionsOf(cluster).filter((c) => wanted.includes(c.type) && c.status !== 'True')
  broken.sort((a, b) => wanted.indexOf(a.type) - wanted.indexOf(b.type))
  return broken.map((c) => steps[c.reason]).find((step) => step !== undefined)
}

type Setting = NonNullable<NonNullable<Cluster['spec']>['addons']>[number]

/** withAddon are the settings of a cluster with one addon switched; its values stay. */
export function withAddon(settings: readonly Setting[] | null | undefined, name: string, enabled: boolean): Setting[] {
  const all = settings ?? []
  if (!all.some((setting) => setting.name === name)) return [...all, { name, enabled } as Setting]
  return all.map((setting) => (setting.name === name ? { ...setting, enabled } : setting))
}

/** withoutAddon are the settings of a cluster that says nothing of one addon: it is then as the organization says. */
export function withoutAddon(settings: readonly Setting[] | null | undefined, name: string): Setting[] {
  return (settings ?? []).filter((setting) => setting.name !== name)
}

export const accesses = [
  { access: 'view', needs: 'viewer', about: 'See what runs, but no Secrets' },
  { access: 'edit', needs: 'developer', about: 'Change what runs in namespaces' },
  { access: 'cluster-admin', needs: 'operator', about: 'Everything in the cluster' },
] as const satisfies { access: string; needs: Role; about: string }[]

export type Access = (typeof accesses)[number]['access']

/** accessesOf says which roles in a cluster a user may have, and why not the others. */
export function accessesOf(me: Me, organization: string): { access: Access; about: string; permission: Permission }[] {
  return accesses.map(({ access, needs, about }) => ({ access, about, permission: may(me, organization, needs) }))
}

/** highestAccess is the highest role in a cluster that a user may have, if any. */
export function highestAccess(me: Me, organization: string): Access | undefined {
  return accessesOf(me, organization).findLast((one) => one.permission.allowed)?.access
}

export interface Version {
  major: number
  minor: number
  patch: number
}

/** versionOf reads a version such as "v1.36.3"; undefined for what is none. */
export function versionOf(text: string | undefined): Version | undefined {
  const found = /^v(\d+)\.(\d+)\.(\d+)$/.exec(text ?? '')
  return found ? { major: Number(found[1]), minor: Number(found[2]), patch: Number(found[3]) } : undefined
}
