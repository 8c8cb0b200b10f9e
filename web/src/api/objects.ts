import type { Schemas } from './client'

export type Cluster = Schemas['Cluster']
export type NodePool = Schemas['NodePool']
export type Machine = Schemas['Machine']
export type Provisioner = Schemas['Provisioner']
export type Backup = Schemas['Backup']
export type BackupSchedule = Schemas['BackupSchedule']
export type Restore = Schemas['Restore']
export type Rehearsal = Schemas['Rehearsal']
export type Upgrade = Schemas['Upgrade']
export type Organization = Schemas['Organization']
export type Release = Schemas['Release']

/** Condition is a metav1.Condition. */
export interface Condition {
  type: string
  status: 'True' | 'False' | 'Unknown'
  reason: string
  message: string
  lastTransitionTime: string
  observedGeneration?: number
}

/** What all kinds have. */
export interface AnyObject {
  kind: string
  name: string
  organization?: string
  uid: string
  createdAt: string
  deletionRequestedAt?: string
  generation: number
  revision: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
  status?: { conditions?: unknown[]; observedGeneration?: number }
}

export function conditionsOf(o: AnyObject): Condition[] {
  return (o.status?.conditions ?? []) as Condition[]
}

export function condition(o: AnyObject, type: string): Condition | undefined {
  return conditionsOf(o).find((c) => c.type === type)
}
