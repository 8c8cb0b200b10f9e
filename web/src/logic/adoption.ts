import { type Cluster, type Condition, condition } from '../api/objects'

export interface AdoptionStep {
  title: string
  state: 'success' | 'danger' | 'info' | 'pending'
  /** The state in a word, for those who do not see its color. */
  said: string
  message?: string
}

const titles: [string, string][] = [
  ['Accepted', 'KQueen has a kubeconfig, or waits for an agent'],
  ['Provisioned', 'The cluster answers'],
  ['Ready', 'The cluster is ready'],
]

/** What is waited for, and does not go wrong by lasting. */
const waits = ['CredentialsMissing', 'AgentPending', 'Provisioning', 'Progressing', 'Offline']

/** adoptionSteps says how far the adoption of a cluster is, by its conditions. */
export function adoptionSteps(cluster: Cluster | undefined): AdoptionStep[] {
  let isBefore = true
  return titles.map(([type, title]) => {
    const found = cluster && condition(cluster, type)
    if (found?.status === 'True') return { title, state: 'success', said: 'done' }
    const step = isBefore ? current(title, found) : { title, state: 'pending' as const, said: 'not begun' }
    isBefore = false
    return step
  })
}

function current(title: string, found: Condition | undefined): AdoptionStep {
  const goesOn = !found || waits.includes(found.reason)
  const message = found?.message || undefined
  return goesOn
    ? { title, state: 'info', said: 'waiting', message }
    : { title, state: 'danger', said: 'failed', message }
}
