import type { Schemas } from '../api/client'

/** What a form says of a new node pool. Numbers are texts, as they are typed. */
export interface PoolForm {
  name: string
  provider: 'local' | 'manual'
  nodes: string
  /** Who says how many nodes there are: users, or the need of pods. */
  scaledBy: 'users' | 'pods'
  min: string
  max: string
  cpu: string
  memory: string
  volumes: string
  /** One a line, as key=value. */
  labels: string
  /** One a line, as key=value:Effect. */
  taints: string
}

export const emptyPool: PoolForm = {
  name: '',
  provider: 'local',
  nodes: '1',
  scaledBy: 'users',
  min: '',
  max: '',
  cpu: '',
  memory: '',
  volumes: '',
  labels: '',
  taints: '',
}

export type PoolFaults = Partial<Record<keyof PoolForm, string>>

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute']
const quantity = /^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi)?$/

/** faultsOf says what is wrong with each field of the form, before the server is asked. */
export function faultsOf(form: PoolForm): PoolFaults {
  const faults: PoolFaults = {}
  const bad = (field: keyof PoolForm, why: string | undefined) => {
    if (why) faults[field] = why
  }
  if (!/^[a-z]([-a-z0-9]{0,48}[a-z0-9])?$/.test(form.name)) {
    bad('name', 'Small letters, digits and -, at most 50, beginning with a letter and ending with a letter or digit.')
  }
  const bounds = boundsOf(form.min, form.max)
  bad('nodes', replicasFault(form.nodes, bounds))
  for (const field of ['min', 'max'] as const) {
    if (form[field] !== '' && wholeOf(form[field]) === undefined)
      bad(field, 'A whole number from 0 to 1000, or nothing.')
  }
  if (bounds.min !== undefined && bounds.max !== undefined && bounds.min > bounds.max) {
    bad('max', 'The maximum is below the minimum.')
  }
  if (form.scaledBy === 'pods') {
    if (form.max === '') bad('max', 'Say how many nodes there may be at most.')
    if (form.provider === 'manual') bad('scaledBy', 'KQueen cannot create the machines that you bring.')
  }
  for (const field of ['cpu', 'memory', 'volumes'] as const) {
    if (form[field] !== '' && !quantity.test(form[field])) bad(field, 'A quantity such as 2, 500m or 4Gi, or nothing.')
  }
  bad('labels', linesOf(form.labels).find((line) => !/^[^=\s]+=\S*$/.test(line)) && 'One label a line, as key=value.')
  bad(
    'taints',
    linesOf(form.taints).find((line) => !taintOf(line)) &&
      `One taint a line, as key=value:Effect; effects are ${effects.join(', ')}.`,
  )
  return faults
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
}

function wholeOf(text: string): number | undefined {
  return /^[0-9]{1,4}$/.test(text) && Number(text) <= 1000 ? Number(text) : undefined
}

function taintOf(line: string): { key: string; value?: string; effect: string } | undefined {
  const [, key, value, effect] = /^([^=:\s]+)(?:=([^:\s]*))?:(\w+)$/.exec(line) ?? []
  if (!key || !effect || !effects.includes(effect)) return undefined
  return { key, ...(value ? { value } : {}), effect }
}

export interface Bounds {
  min?: number
  max?: number
}

function boundsOf(min: string, max: string): Bounds {
  return { min: wholeOf(min), max: wholeOf(max) }
}

/** replicasFault says why a pool may not have so many nodes, if so. */
export function replicasFault(nodes: string, { min = 0, max = 1000 }: Bounds): string | undefined {
  const n = wholeOf(nodes)
  if (n === undefined || n < min || n > max) return `A whole number from ${min} to ${max}.`
  return undefined
}

/** poolOf is the node pool that a form without faults says. What it leaves empty is as the server has it by default. */
export function poolOf(form: PoolForm, cluster: string): Schemas['NodePoolInput'] {
  const { min, max } = boundsOf(form.min, form.max)
  const labels = Object.fromEntries(
    linesOf(form.labels).map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
  const taints = linesOf(form.taints).map(taintOf)
  const resources = { ...(form.cpu && { cpu: form.cpu }), ...(form.memory && { memory: form.memory }) }
  const template = {
    provider: form.provider,
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(taints.length > 0 && { taints }),
    ...(Object.keys(resources).length > 0 && { resources }),
    ...(form.volumes && { volumeCapacity: form.volumes }),
  }
  const spec = {
    clusterName: cluster,
    replicas: Number(form.nodes),
    ...(min !== undefined && { minReplicas: min }),
    ...(max !== undefined && { maxReplicas: max }),
    ...(form.scaledBy === 'pods' && { autoscaling: {} }),
    template,
  }
  return { name: form.name, spec: spec as Schemas['NodePoolInput']['spec'] }
}
