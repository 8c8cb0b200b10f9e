import { describe, expect, test } from 'vitest'
import { digestsOf, shortDigest } from './digests'
import { commandOf, isFiltered, listOf, pathOf, queryOf, viewOf } from './inventory'

test.each([
  [undefined, 'images'],
  ['nodes', 'nodes'],
  ['toString', 'images'],
  ['nothing', 'images'],
])('viewOf %s', (view, want) => {
  expect(viewOf({ view })).toBe(want)
})

describe('queryOf', () => {
  test.each([
    ['images', {}, { limit: 50 }],
    [
      'images',
      { org: 'blue', cluster: 'a, b', text: ' x ' },
      { limit: 50, organization: ['blue'], cluster: ['a', 'b'], text: 'x' },
    ],
    ['nodes', { text: 'x', namespace: 'y', cursor: 'c' }, { limit: 50, cursor: 'c' }],
    ['nodes', { from: '2026-03-01T00:00:00Z', to: '2026-03-02T00:00:00Z' }, { limit: 50, at: '2026-03-02T00:00:00Z' }],
    ['images', { from: '2026-03-01T00:00:00Z' }, { limit: 50, from: '2026-03-01T00:00:00Z' }],
    ['binaries', { places: 'true', from: '2026-03-01T00:00:00Z' }, { limit: 50, places: true }],
    ['clusters', { at: '2026-03-01T00:00:00Z', cursor: 'c' }, { limit: 50 }],
  ] as const)('%s %o', (view, search, want) => {
    expect(JSON.parse(JSON.stringify(queryOf(view, search, 50)))).toEqual(want)
  })
})

test.each([
  ['csv', '/api/v1/inventory/images?organization=a&digest=x&digest=y&format=csv'],
  ['json', '/api/v1/inventory/images?organization=a&digest=x&digest=y&limit=500&cursor=c&format=json'],
  [undefined, '/api/v1/inventory/images?organization=a&digest=x&digest=y&limit=500&cursor=c'],
] as const)('pathOf %s', (format, want) => {
  expect(pathOf('images', { organization: ['a'], digest: ['x', 'y'], limit: 500, cursor: 'c' }, format)).toBe(want)
})

test.each([
  ['images', {}, 'kqueen inventory images -A'],
  [
    'binaries',
    { org: 'blue', version: '<1.35', component: 'kubelet,etcd', places: 'true' },
    "kqueen inventory binaries --org blue --component kubelet --component etcd --version '<1.35' --places",
  ],
  ['nodes', { at: '2026-03-01T00:00:00Z' }, 'kqueen inventory nodes -A --at 2026-03-01T00:00:00Z'],
] as const)('commandOf %s', (view, search, want) => {
  expect(commandOf(view, search)).toBe(want)
})

test('small ones', () => {
  expect(listOf(' a,b  c, ')).toEqual(['a', 'b', 'c'])
  expect(listOf(undefined)).toEqual([])
  expect(isFiltered('nodes', { text: 'x' })).toBe(false)
  expect(isFiltered('images', { text: 'x' })).toBe(true)
})

test('digestsOf', () => {
  const a = `sha256:${'a'.repeat(64)}`
  const b = `sha256:${'b'.repeat(64)}`
  expect(digestsOf(`${a}\n docker.io/library/nginx:1@${b} # CVE-1\n\n# a remark\nnginx:1.27\n${a}\nsha256:12`)).toEqual(
    {
      digests: [a, b],
      wrong: ['nginx:1.27', 'sha256:12'],
    },
  )
  expect(shortDigest(a)).toBe('sha256:aaaaaaaaaaaa…')
  expect(shortDigest('odd')).toBe('odd')
})
