import { describe, expect, it } from 'vitest'
import { box, essence, layout, lookOf, type Relation, type TopologyObject } from './topology'

const object = (id: string, more: Partial<TopologyObject> = {}): TopologyObject => {
  const [kind = '', name = ''] = id.split('/')
  return { id, kind, name, state: 'Present', ...more }
}
const relate = (from: string, to: string, type: Relation['type'] = 'Owns'): Relation => ({ from, to, type })

describe('layout', () => {
  const layersOf = (ids: string[], relations: Relation[]) =>
    Object.fromEntries(
      layout(
        ids.map((id) => object(id)),
        relations,
      ).map((p) => [p.object.id, p.layer]),
    )

  it.each<[string, string[], Relation[], Record<string, number>]>([
    ['nothing', [], [], {}],
    ['one', ['A/a'], [], { 'A/a': 0 }],
    [
      'a chain',
      ['Pod/p', 'Deployment/d', 'ReplicaSet/r'],
      [relate('Deployment/d', 'ReplicaSet/r'), relate('ReplicaSet/r', 'Pod/p')],
      { 'Deployment/d': 0, 'ReplicaSet/r': 1, 'Pod/p': 2 },
    ],
    [
      'a source beside what it leads to',
      ['Pod/p', 'Deployment/d', 'ReplicaSet/r', 'Service/s'],
      [
        relate('Deployment/d', 'ReplicaSet/r'),
        relate('ReplicaSet/r', 'Pod/p'),
        relate('Service/s', 'Pod/p', 'Selects'),
      ],
      { 'Deployment/d': 0, 'ReplicaSet/r': 1, 'Service/s': 1, 'Pod/p': 2 },
    ],
    ['a circle', ['A/a', 'B/b'], [relate('A/a', 'B/b'), relate('B/b', 'A/a')], { 'A/a': 0, 'B/b': 1 }],
    ['itself, and what is not there', ['A/a'], [relate('A/a', 'A/a'), relate('A/a', 'X/x')], { 'A/a': 0 }],
  ])('%s', (_, ids, relations, want) => {
    expect(layersOf(ids, relations)).toEqual(want)
  })

  it('puts no two at one place', () => {
    const ids = Array.from({ length: 40 }, (_, i) => `Pod/${i}`)
    const placed = layout(
      ids.map((id) => object(id)),
      ids.slice(1).map((id, i) => relate(ids[Math.floor(i / 3)] ?? '', id)),
    )
    expect(placed).toHaveLength(40)
    expect(new Set(placed.map((p) => `${p.x}/${p.y}`)).size).toBe(40)
    expect(placed.every((p) => p.x === p.layer * (box.width + box.across))).toBe(true)
  })

  it('does not cross what need not cross', () => {
    const ids = ['D/1', 'D/2', 'P/b', 'P/a']
    const placed = layout(
      ids.map((id) => object(id)),
      [relate('D/1', 'P/b'), relate('D/2', 'P/a')],
    )
    const y = (id: string) => placed.find((p) => p.object.id === id)?.y ?? 0
    expect(Math.sign(y('D/1') - y('D/2'))).toBe(Math.sign(y('P/b') - y('P/a')))
  })

  it('takes a long chain', () => {
    const ids = Array.from({ length: 5000 }, (_, i) => `Pod/${i}`)
    const placed = layout(
      ids.map((id) => object(id)),
      ids.slice(1).map((id, i) => relate(ids[i] ?? '', id)),
    )
    expect(placed.at(-1)?.layer).toBe(4999)
  })
})

describe('lookOf', () => {
  it.each<[Partial<TopologyObject>, string, string]>([
    [{ state: 'Missing' }, 'bad', 'missing'],
    [{ phase: 'Running' }, 'good', 'running'],
    [{ phase: 'Pending' }, 'working', 'pending'],
    [{ phase: 'Failed' }, 'bad', 'failed'],
    [{ state: 'Referenced' }, 'plain', 'named by others'],
    [{}, 'good', 'present'],
  ])('%j', (more, look, words) => {
    expect(lookOf(object('Pod/p', more))).toEqual({ look, words })
  })
})

describe('essence', () => {
  it('leaves out configuration and nodes but not what is missing', () => {
    const objects = [object('Pod/p'), object('ConfigMap/c'), object('Secret/s', { state: 'Missing' }), object('Node/n')]
    const found = essence(objects, [relate('Pod/p', 'ConfigMap/c', 'Uses'), relate('Pod/p', 'Secret/s', 'Uses')])
    expect(found.objects.map((o) => o.id)).toEqual(['Pod/p', 'Secret/s'])
    expect(found.relations.map((r) => r.to)).toEqual(['Secret/s'])
  })
})
