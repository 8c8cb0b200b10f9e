import { expect, test } from 'vitest'
import { bytes, cores, count } from './quantity'

test.each([
  [bytes(0), '0 B'],
  [bytes(1536), '1.5 KiB'],
  [bytes(79 * 1024 * 1024), '79 MiB'],
  [cores(250), '0.25'],
  [cores(64_000), '64'],
  [count(1, 'cluster'), '1 cluster'],
  [count(2000, 'cluster'), '2,000 clusters'],
])('%s', (got, want) => {
  expect(got).toBe(want)
})
