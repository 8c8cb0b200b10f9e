import type { Schemas } from '../api/client'

export type TopologyObject = Schemas['TopologyObject']
export type Relation = Schemas['TopologyRelation']

/** The size of an object on the drawing, and the gaps between objects, in pixels. */
export const box = { width: 220, height: 58, across: 90, down: 18 }

export interface Placed {
  object: TopologyObject
  layer: number
  x: number
  y: number
}

export type Look = 'good' | 'working' | 'bad' | 'plain'

/** lookOf says how an object is, in words, and of which color it is. */
export function lookOf(object: TopologyObject): { look: Look; words: string } {
  if (object.state === 'Missing') return { look: 'bad', words: 'missing' }
  if (object.phase) {
    if (['Failed', 'Lost', 'Unknown'].includes(object.phase)) return { look: 'bad', words: object.phase.toLowerCase() }
    if (object.phase === 'Pending') return { look: 'working', words: 'pending' }
    return { look: 'good', words: object.phase.toLowerCase() }
  }
  return object.state === 'Referenced'
    ? { look: 'plain', words: 'named by others' }
    : { look: 'good', words: 'present' }
}

const around = new Set(['ConfigMap', 'Secret', 'ServiceAccount', 'Node', 'PersistentVolume', 'StorageClass'])

/** essence leaves out what many objects share, such as configuration and nodes; what is missing stays. */
export function essence(objects: readonly TopologyObject[], relations: readonly Relation[]) {
  const kept = objects.filter((o) => o.state === 'Missing' || !around.has(o.kind))
  const ids = new Set(kept.map((o) => o.id))
  return { objects: kept, relations: relations.filter((r) => ids.has(r.from) && ids.has(r.to)) }
}

type Edges = Map<string, string[]>

/**
 * layout places objects in layers from left to right, so that relations lead to the right, and orders each layer so that few of them cross.
 * The same input gives the same drawing. Relations that close a circle do not count.
 */
export function layout(objects: readonly TopologyObject[], relations: readonly Relation[]): Placed[] {
  const ids = objects.map((o) => o.id)
  const out = acyclic(ids, relations)
  const layers = layersOf(ids, out)
  const order = ordered(ids, out, layers)
  const tallest = Math.max(1, ...order.map((layer) => layer.length))
  const byId = new Map(objects.map((o) => [o.id, o]))
  return order.flatMap((layer, at) => {
    const top = ((tallest - layer.length) * (box.height + box.down)) / 2
    return layer.map((id, i) => ({
      object: byId.get(id) as TopologyObject,
      layer: at,
      x: at * (box.width + box.across),
      y: top + i * (box.height + box.down),
    }))
  })
}

function acyclic(ids: string[], relations: readonly Relation[]): Edges {
  const wanted: Edges = new Map(ids.map((id) => [id, []]))
  for (const r of relations) if (r.from !== r.to && wanted.has(r.to)) wanted.get(r.from)?.push(r.to)
  const kept: Edges = new Map(ids.map((id) => [id, []]))
  const seen = new Map<string, 'open' | 'done'>()
  for (const start of ids) {
    if (seen.has(start)) continue
    seen.set(start, 'open')
    const stack = [{ id: start, next: 0 }]
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const to = wanted.get(top.id)?.[top.next++]
      if (to === undefined) {
        seen.set(top.id, 'done')
        stack.pop()
        continue
      }
      if (seen.get(to) === 'open') continue
      kept.get(top.id)?.push(to)
      if (!seen.has(to)) {
        seen.set(to, 'open')
        stack.push({ id: to, next: 0 })
      }
    }
  }
  return kept
}

/** The longest way to each object; those to which nothing leads stand right before what they lead to. */
function layersOf(ids: string[], out: Edges): Map<string, number> {
  const into = new Map(ids.map((id) => [id, 0]))
  for (const targets of out.values()) for (const to of targets) into.set(to, (into.get(to) ?? 0) + 1)
  const sources = ids.filter((id) => into.get(id) === 0)
  const left = new Map(into)
  const layers = new Map(ids.map((id) => [id, 0]))
  const queue = [...sources]
  // What is appended meanwhile comes into its turn, too.
  for (const from of queue) {
    for (const to of out.get(from) ?? []) {
      layers.set(to, Math.max(layers.get(to) ?? 0, (layers.get(from) ?? 0) + 1))
      left.set(to, (left.get(to) ?? 0) - 1)
      if (left.get(to) === 0) queue.push(to)
    }
  }
  for (const id of sources) {
    const targets = (out.get(id) ?? []).map((to) => layers.get(to) ?? 0)
    if (targets.length > 0) layers.set(id, Math.min(...targets) - 1)
  }
  return layers
}

/** Each layer by the middle of its neighbours, a few times to and fro. */
function ordered(ids: string[], out: Edges, layers: Map<string, number>): string[][] {
  const order: string[][] = Array.from({ length: Math.max(0, ...layers.values()) + 1 }, () => [])
  for (const id of [...ids].sort()) order[layers.get(id) ?? 0]?.push(id)
  const back: Edges = new Map(ids.map((id) => [id, []]))
  for (const [from, targets] of out) for (const to of targets) back.get(to)?.push(from)
  const place = new Map<string, number>()
  const note = () => {
    for (const layer of order) layer.forEach((id, i) => void place.set(id, (i + 0.5) / layer.length))
  }
  note()
  for (let round = 0; round < 4; round++) {
    const neighbours = round % 2 === 0 ? back : out
    for (const layer of round % 2 === 0 ? order : [...order].reverse()) {
      const middle = new Map(
        layer.map((id) => [
          id,
          mean(
            (neighbours.get(id) ?? []).map((n) => place.get(n) ?? 0),
            place.get(id) ?? 0,
          ),
        ]),
      )
      layer.sort((a, b) => (middle.get(a) ?? 0) - (middle.get(b) ?? 0) || a.localeCompare(b))
      layer.forEach((id, i) => void place.set(id, (i + 0.5) / layer.length))
    }
  }
  return order
}

function mean(values: number[], none: number): number {
  return values.length === 0 ? none : values.reduce((sum, value) => sum + value, 0) / values.length
}
