import type { Schemas } from '../api/client'
import { type Condition, condition } from '../api/objects'
import { count } from './quantity'

export type Rotation = Schemas['Rotation']
export type Credential = NonNullable<Rotation['spec']>['credential']

interface About {
  name: string
  /** In the name of a rotation. */
  short: string
  /** The command that starts it. */
  command: string
  /** What it is and does. */
  does: string
  /** What starting a rotation does to what is there. */
  starts: string[]
  /** What finishing it does, which cannot be taken back. */
  finishes: string[]
  /** What to do before it is finished. */
  before: string
}

/** The credentials of a cluster that are rotated, in plain words. */
export const credentials: Record<Credential, About> = {
  CertificateAuthority: {
    name: 'Certificate authority',
    short: 'ca',
    command: 'ca',
    does: 'Signs the certificates of users, nodes and the API server.',
    starts: [
      'Kubeconfigs from before go on until you finish. Those that are handed out from now on name both authorities.',
      'Nodes stay Ready and get certificates of the new authority. Exec and logs to each fail for two or three seconds.',
      'Both authorities are trusted until you finish.',
    ],
    finishes: [
      'Kubeconfigs from before are refused, and so are certificates that the old authority has signed.',
      'Pods that read the old authority at their start cannot call the API server any more until they start again.',
      'Kubelets are started once more, and the API server is replaced twice.',
    ],
    before: 'Hand out kubeconfigs again, and start pods again that call the API server and began before.',
  },
  ServiceAccountKey: {
    name: 'Key of service accounts',
    short: 'service-account-key',
    command: 'service-account-key',
    does: 'Signs the tokens of service accounts.',
    starts: [
      'Tokens of the old key go on until you finish. Kubeconfigs and nodes notice nothing.',
      'Pods get tokens of the new key within an hour.',
    ],
    finishes: ['Tokens of the old key are refused, whatever their expiry says: those in Secrets and kept elsewhere.'],
    before: 'Wait an hour, and make tokens again that are kept elsewhere or in Secrets.',
  },
  EncryptionKey: {
    name: 'Encryption key',
    short: 'encryption-key',
    command: 'encryption-key',
    does: 'Encrypts Secrets where they are stored.',
    starts: [
      'Every Secret is written again, at most a hundred a second; who watches Secrets sees each change once.',
      'Kubeconfigs, tokens and nodes notice nothing. The API server is replaced while it runs.',
    ],
    finishes: ['Backups from before all Secrets were encrypted with the new key cannot be restored in place any more.'],
    before: 'Back the cluster up.',
  },
}

export const kinds = Object.keys(credentials) as Credential[]

export interface RotationStep {
  type: string
  name: string
  state: 'done' | 'working' | 'waits' | 'failed' | 'pending'
  message?: string
}

const steps: [type: string, name: string][] = [
  ['NewTrusted', 'New trusted'],
  ['NewSigns', 'New signs'],
  ['NewServes', 'New serves'],
  ['OldRemoved', 'Old removed'],
]

/** stepsOf are the steps of a rotation in their order, and at which it is. */
export function stepsOf(rotation: Rotation): RotationStep[] {
  const at = steps.findIndex(([type]) => condition(rotation, type)?.status !== 'True')
  return steps.map(([type, name], i) => {
    const c = condition(rotation, type)
    if (at < 0 || i < at) return { type, name, state: 'done', message: c?.message }
    if (i > at) return { type, name, state: 'pending' }
    const said = c ?? condition(rotation, 'Ready')
    return { type, name, state: stateOf(said), message: said?.message }
  })
}

function stateOf(c: Condition | undefined): RotationStep['state'] {
  if (c?.reason === 'RotationAwaitsFinish') return 'waits'
  return c?.reason === 'RotationFailed' || c?.reason === 'RotationRefused' ? 'failed' : 'working'
}

export const hasEnded = (rotation: Rotation) => !!rotation.status?.completionTime

/** awaitsFinish says whether a rotation waits for its user: old and new are both accepted. */
export function awaitsFinish(rotation: Rotation): boolean {
  return !hasEnded(rotation) && !rotation.spec?.finish && stepsOf(rotation).some((step) => step.state === 'waits')
}

/** dependents are what still hangs on the old credential, as far as it is known. */
export function dependents({ status }: Rotation): string[] {
  const { olderPods = 0, olderPodNames, olderBackups = 0, pendingMachines, pendingSecrets = 0 } = status ?? {}
  const named = olderPodNames?.length ? `, such as ${olderPodNames.slice(0, 3).join(', ')}` : ''
  return [
    olderPods > 0 && `${count(olderPods, 'pod')} began before the new one signed${named}`,
    pendingMachines?.length && `nodes that do not follow yet: ${pendingMachines.slice(0, 5).join(', ')}`,
    pendingSecrets > 0 && `${count(pendingSecrets, 'Secret')} not yet encrypted with the new key`,
    olderBackups > 0 && `${count(olderBackups, 'backup')} that cannot be restored in place once the old key is gone`,
  ].filter((text): text is string => !!text)
}

const halfYear = 182 * 86_400_000

/** endsSoon says whether the first authority of a control plane ends within half a year, or has ended. */
export function endsSoon(at: string | undefined, now: Date): boolean {
  return at !== undefined && new Date(at).getTime() - now.getTime() < halfYear
}
