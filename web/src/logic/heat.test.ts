import { expect, test } from 'vitest'
import { markOf, shadeOf } from './heat'

test.each([
  [0, 100, 0],
  [5, 0, 0],
  [1, 100, 1],
  [20, 100, 1],
  [21, 100, 2],
  [100, 100, 5],
  [120, 100, 5],
])('shadeOf %d of %d', (amount, largest, want) => {
  expect(shadeOf(amount, largest)).toBe(want)
})

test.each([
  [{ ready: 'True', live: true }, undefined],
  [{ ready: 'True', live: true, pressure: [] }, undefined],
  [{ ready: 'True', live: false }, 'as seen last'],
  [{ ready: 'False', live: true }, 'not ready'],
  [{ ready: 'Unknown', live: true }, 'not known to be ready'],
  [{ live: true }, 'not known to be ready'],
  [{ ready: 'True', live: true, pressure: ['DiskPressure'] }, 'DiskPressure'],
  [{ ready: 'True', live: true, unschedulable: true }, 'cordoned'],
])('markOf %o', (node, want) => {
  expect(markOf(node)?.text).toBe(want)
})
