import { describe, expect, it } from 'vitest'
import { changes, equal, type Json, merged } from './diff'

const base: Json = {
  spec: { version: 'v1', sans: ['a'], addons: [{ name: 'dns', replicas: 2 }] },
  labels: { team: 'red' },
}
const to = (change: (copy: never) => void): Json => {
  const copy = structuredClone(base)
  change(copy as never)
  return copy
}
type Doc = { spec: { version?: string; sans: string[]; addons: Json[] }; labels?: Record<string, string> }
const edit = (change: (doc: Doc) => void) => to(change as never)

const cases: [name: string, yours: Json, theirs: Json, want: [string, string][], mine: Json, other: Json][] = [
  ['nothing', base, base, [], base, base],
  [
    'one side',
    edit((d) => {
      d.spec.version = 'v2'
    }),
    base,
    [['spec/version', 'yours']],
    edit((d) => {
      d.spec.version = 'v2'
    }),
    edit((d) => {
      d.spec.version = 'v2'
    }),
  ],
  [
    'two sides, two places',
    edit((d) => {
      d.spec.version = 'v2'
    }),
    edit((d) => {
      d.labels = { team: 'red', a: 'b' }
    }),
    [
      ['spec/version', 'yours'],
      ['labels/a', 'theirs'],
    ],
    edit((d) => {
      d.spec.version = 'v2'
      d.labels = { team: 'red', a: 'b' }
    }),
    edit((d) => {
      d.spec.version = 'v2'
      d.labels = { team: 'red', a: 'b' }
    }),
  ],
  [
    'alike',
    edit((d) => {
      d.spec.version = 'v2'
    }),
    edit((d) => {
      d.spec.version = 'v2'
    }),
    [['spec/version', 'both']],
    edit((d) => {
      d.spec.version = 'v2'
    }),
    edit((d) => {
      d.spec.version = 'v2'
    }),
  ],
  [
    'one place, not alike',
    edit((d) => {
      d.spec.version = 'v2'
    }),
    edit((d) => {
      d.spec.version = 'v3'
    }),
    [['spec/version', 'conflict']],
    edit((d) => {
      d.spec.version = 'v2'
    }),
    edit((d) => {
      d.spec.version = 'v3'
    }),
  ],
  [
    'lists of plain items as wholes',
    edit((d) => {
      d.spec.sans = ['a', 'b']
    }),
    edit((d) => {
      d.spec.sans = ['a', 'c']
    }),
    [['spec/sans', 'conflict']],
    edit((d) => {
      d.spec.sans = ['a', 'b']
    }),
    edit((d) => {
      d.spec.sans = ['a', 'c']
    }),
  ],
  [
    'lists of named items by their names',
    edit((d) => {
      d.spec.addons.push({ name: 'x' })
    }),
    edit((d) => {
      d.spec.addons = [{ name: 'dns', replicas: 3 }]
    }),
    [
      ['spec/addons/dns/replicas', 'theirs'],
      ['spec/addons/x', 'yours'],
    ],
    edit((d) => {
      d.spec.addons = [{ name: 'dns', replicas: 3 }, { name: 'x' }]
    }),
    edit((d) => {
      d.spec.addons = [{ name: 'dns', replicas: 3 }, { name: 'x' }]
    }),
  ],
  [
    'removed here, changed there',
    edit((d) => {
      delete d.labels
    }),
    edit((d) => {
      d.labels = { team: 'blue' }
    }),
    [['labels', 'conflict']],
    edit((d) => {
      delete d.labels
    }),
    edit((d) => {
      d.labels = { team: 'blue' }
    }),
  ],
]

describe('three-way', () => {
  it.each(cases)('%s', (_, yours, theirs, want, mine, other) => {
    expect(changes(base, yours, theirs).map((c) => [c.path.join('/'), c.by])).toEqual(want)
    expect(merged(base, yours, theirs, 'yours')).toEqual(mine)
    expect(merged(base, yours, theirs, 'theirs')).toEqual(other)
  })
})

describe('equal', () => {
  it.each<[Json, Json, boolean]>([
    [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
    [[1, 2], [2, 1], false],
    [{ a: 1 }, { a: 1, b: 1 }, false],
    [null, {}, false],
    [[], {}, false],
  ])('%j %j', (a, b, want) => {
    expect(equal(a, b)).toBe(want)
  })
})
