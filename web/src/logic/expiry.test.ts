import { expect, test } from 'vitest'
import { expiresAt, expiry, lifetimeName } from './expiry'

const now = new Date('2026-03-01T12:00:00Z')

test.each([
  [1, '2026-03-02T12:00:00.000Z', '1 day'],
  [30, '2026-03-31T12:00:00.000Z', '30 days'],
  [365, '2027-03-01T11:55:00.000Z', '1 year'],
])('%d days', (days, at, name) => {
  expect(expiresAt(days, now)).toBe(at)
  expect(lifetimeName(days)).toBe(name)
})

test.each([
  ['2026-03-01T12:00:00Z', 'expired'],
  ['2026-03-08T11:59:59Z', 'soon'],
  ['2026-03-09T00:00:00Z', 'later'],
] as const)('%s', (at, want) => {
  expect(expiry(at, now)).toBe(want)
})
