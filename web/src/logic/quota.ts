import type { Schemas } from '../api/client'
import { bytes, cores, count } from './quantity'

export type Quota = Schemas['Quota']

/** The settings of spec.quota as a form has them: texts, empty where there is no limit. */
export const quotaKeys = ['clusters', 'nodes', 'local', 'manual', 'cpu', 'memory', 'store'] as const
export type QuotaKey = (typeof quotaKeys)[number]
export type QuotaForm = Record<QuotaKey, string>

/** How much is used, in words and of which limit. */
export interface QuotaLine {
  key: QuotaKey
  name: string
  words: string
  /** From 0 to 100, and above it when more is there than may be; absent without a limit. */
  percent?: number
  state: 'unlimited' | 'free' | 'near' | 'full'
}

const suffixes: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
}

/** parseQuantity reads a Kubernetes quantity such as "1500m" or "4Gi" as a number; undefined when it is none. */
export function parseQuantity(text: string): number | undefined {
  const plain = /^([+-]?(?:\d+\.?\d*|\.\d+))(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/.exec(text)
  if (plain) return Number(plain[1]) * (suffixes[plain[2] ?? ''] ?? 1)
  return /^[+-]?(\d+\.?\d*|\.\d+)[eE][+-]?\d+$/.test(text) ? Number(text) : undefined
}

const names: Record<QuotaKey, string> = {
  clusters: 'Clusters',
  nodes: 'Nodes',
  local: 'Machines on the host of KQueen',
  manual: 'Machines that users join',
  cpu: 'Processors of nodes',
  memory: 'Memory of nodes',
  store: 'Data in data stores',
}

/** quotaLines says how much of each resource is used, in the order of the API. */
export function quotaLines(q: Quota): QuotaLine[] {
  return [
    line('clusters', q.clusters.used, q.clusters.limit, (n) => n.toLocaleString('en'), 'cluster'),
    line('nodes', q.nodes.used, q.nodes.limit, (n) => n.toLocaleString('en'), 'node'),
    line('local', q.machines.local.used, q.machines.local.limit, (n) => n.toLocaleString('en'), 'machine'),
    line('manual', q.machines.manual.used, q.machines.manual.limit, (n) => n.toLocaleString('en'), 'machine'),
    quantityLine('cpu', q.cpu, (n) => cores(n * 1000)),
    quantityLine('memory', q.memory, bytes),
    quantityLine('store', q.store, bytes),
  ]
}

function quantityLine(key: QuotaKey, use: Schemas['UseOfQuantity'], write: (n: number) => string): QuotaLine {
  const limit = use.limit ? parseQuantity(use.limit) : undefined
  return line(key, parseQuantity(use.used) ?? 0, limit, write)
}

function line(
  key: QuotaKey,
  used: number,
  limit: number | undefined,
  write: (n: number) => string,
  noun?: string,
): QuotaLine {
  const name = names[key]
  if (limit === undefined) {
    return { key, name, words: `${noun ? count(used, noun) : write(used)} used, no limit`, state: 'unlimited' }
  }
  const percent = limit === 0 ? (used > 0 ? 101 : 100) : (used / limit) * 100
  const words = `${write(used)} of ${noun ? count(limit, noun) : write(limit)} used`
  return { key, name, words, percent, state: percent >= 100 ? 'full' : percent >= 80 ? 'near' : 'free' }
}

/** quotaForm is what a form shows of the limits. */
export function quotaForm(q: Quota): QuotaForm {
  const text = (limit?: number | string) => (limit === undefined ? '' : String(limit))
  return {
    clusters: text(q.clusters.limit),
    nodes: text(q.nodes.limit),
    local: text(q.machines.local.limit),
    manual: text(q.machines.manual.limit),
    cpu: text(q.cpu.limit),
    memory: text(q.memory.limit),
    store: text(q.store.limit),
  }
}

export const noQuota: QuotaForm = { clusters: '', nodes: '', local: '', manual: '', cpu: '', memory: '', store: '' }

const isQuantity = (key: QuotaKey) => key === 'cpu' || key === 'memory' || key === 'store'

/** quotaErrors says what is wrong with each text of a form. */
export function quotaErrors(form: QuotaForm): Partial<QuotaForm> {
  const errors: Partial<QuotaForm> = {}
  for (const key of quotaKeys) {
    const text = form[key].trim()
    if (text === '') continue
    if (isQuantity(key)) {
      const amount = parseQuantity(text)
      if (amount === undefined || amount < 0) errors[key] = `Write a quantity such as ${key === 'cpu' ? '16' : '64Gi'}.`
    } else if (!/^\d{1,9}$/.test(text)) errors[key] = 'Write a whole number, or nothing for no limit.'
  }
  return errors
}

/** quotaPatch is the merge patch of spec.quota that leads from one form to another; undefined when they say the same. */
export function quotaPatch(before: QuotaForm, after: QuotaForm): Record<string, unknown> | undefined {
  const patch: Record<string, unknown> = {}
  const machines: Record<string, unknown> = {}
  for (const key of quotaKeys) {
    const text = after[key].trim()
    if (text === before[key].trim()) continue
    const value = text === '' ? null : isQuantity(key) ? text : Number(text)
    if (key === 'local' || key === 'manual') machines[key] = value
    else patch[key] = value
  }
  if (Object.keys(machines).length > 0) patch.machines = machines
  return Object.keys(patch).length > 0 ? patch : undefined
}

/** quotaFlags are the flags of `kqueen organization create` and `update` that say the same as a change from one form to another. */
export function quotaFlags(before: QuotaForm, after: QuotaForm): string[] {
  return quotaKeys
    .filter((key) => after[key].trim() !== before[key].trim())
    .map((key) => {
      const value = after[key].trim() || 'none'
      return key === 'local' || key === 'manual' ? `--max-machines ${key}=${value}` : `--max-${key} ${value}`
    })
}
