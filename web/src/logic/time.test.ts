import { expect, test } from 'vitest'
import { ago, lasted } from './time'

const now = new Date('2026-03-01T12:00:00Z')
const before = (seconds: number) => new Date(now.getTime() - seconds * 1000)

test.each([
  [2, 'just now'],
  [59, '59 sec. ago'],
  [60, '1 min. ago'],
  [3 * 3600 + 59 * 60, '3 hr. ago'],
  [40 * 3600, '1 day ago'],
  [-90, 'in 1 min.'],
])('%d seconds before', (seconds, want) => {
  expect(ago(before(seconds), now)).toBe(want)
})

test.each([
  [400, '0 s'],
  [61_000, '1 min 1 s'],
  [7_500_000, '2 h 5 min'],
  [172_800_000, '2 d'],
])('%d milliseconds', (milliseconds, want) => {
  expect(lasted(milliseconds)).toBe(want)
})
