import { describe, expect, test } from 'vitest'
import { noQuota, parseQuantity, type Quota, quotaErrors, quotaFlags, quotaForm, quotaLines, quotaPatch } from './quota'

test.each([
  ['0', 0],
  ['1500m', 1.5],
  ['4Gi', 4 * 2 ** 30],
  ['1.5G', 1.5e9],
  ['1e3', 1000],
  ['.5', 0.5],
  ['4GB', undefined],
  ['', undefined],
  ['four', undefined],
])('parseQuantity(%s)', (text, want) => {
  expect(parseQuantity(text)).toBe(want)
})

const quota: Quota = {
  clusters: { used: 5, limit: 5 },
  nodes: { used: 17, limit: 20 },
  machines: { local: { used: 1, limit: 10 }, manual: { used: 0 } },
  cpu: { used: '1500m', limit: '40' },
  memory: { used: '2Gi' },
  store: { used: '3Gi', limit: '2Gi' },
}

describe('quotaLines', () => {
  test.each([
    [0, '5 of 5 clusters used', 'full'],
    [1, '17 of 20 nodes used', 'near'],
    [2, '1 of 10 machines used', 'free'],
    [3, '0 machines used, no limit', 'unlimited'],
    [4, '1.5 of 40 used', 'free'],
    [5, '2 GiB used, no limit', 'unlimited'],
    [6, '3 GiB of 2 GiB used', 'full'],
  ] as const)('%d: %s', (at, words, state) => {
    expect(quotaLines(quota)[at]).toMatchObject({ words, state })
  })
  test('a limit of nothing', () => {
    const none = { ...quota, clusters: { used: 0, limit: 0 } }
    expect(quotaLines(none)[0]).toMatchObject({ words: '0 of 0 clusters used', state: 'full', percent: 100 })
  })
})

test('quotaForm', () => {
  expect(quotaForm(quota)).toEqual({
    clusters: '5',
    nodes: '20',
    local: '10',
    manual: '',
    cpu: '40',
    memory: '',
    store: '2Gi',
  })
})

test('quotaErrors', () => {
  expect(Object.keys(quotaErrors({ ...noQuota, clusters: '-1', nodes: '2.5', cpu: '-3', memory: '64 GB' }))).toEqual([
    'clusters',
    'nodes',
    'cpu',
    'memory',
  ])
  expect(quotaErrors({ ...noQuota, clusters: '0', cpu: '1500m', store: '8Gi' })).toEqual({})
})

test('quotaPatch and quotaFlags', () => {
  const before = quotaForm(quota)
  expect(quotaPatch(before, before)).toBeUndefined()
  const after = { ...before, clusters: '10', local: '', memory: ' 64Gi ' }
  expect(quotaPatch(before, after)).toEqual({ clusters: 10, machines: { local: null }, memory: '64Gi' })
  expect(quotaFlags(before, after)).toEqual(['--max-clusters 10', '--max-machines local=none', '--max-memory 64Gi'])
})
