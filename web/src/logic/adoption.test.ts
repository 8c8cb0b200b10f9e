import { expect, it } from 'vitest'
import type { Cluster } from '../api/objects'
import { adoptionSteps } from './adoption'

const cluster = (conditions: [string, string, string][]) =>
  ({
    status: { conditions: conditions.map(([type, status, reason]) => ({ type, status, reason, message: reason })) },
  }) as unknown as Cluster

it.each<[string, [string, string, string][], string[]]>([
  ['nothing known', [], ['info', 'pending', 'pending']],
  [
    'no credentials',
    [
      ['Accepted', 'False', 'CredentialsMissing'],
      ['Ready', 'False', 'CredentialsMissing'],
    ],
    ['info', 'pending', 'pending'],
  ],
  [
    'refused',
    [
      ['Accepted', 'True', 'Accepted'],
      ['Provisioned', 'False', 'CredentialsRefused'],
    ],
    ['success', 'danger', 'pending'],
  ],
  [
    'no agent yet',
    [
      ['Accepted', 'True', 'Accepted'],
      ['Provisioned', 'False', 'AgentPending'],
    ],
    ['success', 'info', 'pending'],
  ],
  [
    'offline',
    [
      ['Accepted', 'True', 'Accepted'],
      ['Provisioned', 'Unknown', 'Offline'],
    ],
    ['success', 'info', 'pending'],
  ],
  [
    'ready',
    [
      ['Accepted', 'True', 'Accepted'],
      ['Provisioned', 'True', 'Provisioned'],
      ['Ready', 'True', 'Ready'],
    ],
    ['success', 'success', 'success'],
  ],
])('%s', (_, conditions, states) => {
  expect(adoptionSteps(cluster(conditions)).map((step) => step.state)).toEqual(states)
})
