import { expect, test } from 'vitest'
import type { BackupSchedule } from '../api/objects'
import { faultsOf, formOf, keepsInWords, specOf } from './backupschedule'

const there = {
  spec: { clusterName: 'demo', schedule: '30 2 * * *', timeZone: 'Europe/Prague', retention: { keepDaily: 14 } },
} as unknown as BackupSchedule

test('a new schedule is daily, in the zone of the browser, and keeps the last seven', () => {
  const form = formOf(undefined, 'Europe/Prague')
  expect(specOf(form, false)).toEqual({ schedule: '@daily', timeZone: 'Europe/Prague', retention: { keepLast: 7 } })
  expect(faultsOf(form)).toEqual({})
})

test('a change takes rules away that are no more', () => {
  const form = { ...formOf(there, 'UTC'), keepDaily: '', keepWeekly: '8' }
  expect(specOf(form, true)).toEqual({
    schedule: '30 2 * * *',
    timeZone: 'Europe/Prague',
    retention: { keepLast: null, keepDaily: null, keepWeekly: 8, keepMonthly: null },
    recoveryWindowHours: null,
  })
})

test.each([
  ['no rule', { keepLast: '' }, 'keepLast'],
  ['no number', { keepDaily: 'all' }, 'keepDaily'],
  ['nothing', { keepWeekly: '0' }, 'keepWeekly'],
  ['too many', { keepMonthly: '1001' }, 'keepMonthly'],
  ['no time', { schedule: ' ' }, 'schedule'],
  ['too long a window', { window: '9000' }, 'window'],
])('%s is refused', (_, change, field) => {
  expect(Object.keys(faultsOf({ ...formOf(undefined, 'UTC'), ...change }))).toEqual([field])
})

test('a recovery window is hours, or nothing', () => {
  const form = { ...formOf(undefined, 'UTC'), window: '168' }
  expect(specOf(form, false).recoveryWindowHours).toBe(168)
  expect(specOf({ ...form, window: '' }, true).recoveryWindowHours).toBeNull()
  expect('recoveryWindowHours' in specOf({ ...form, window: '' }, false)).toBe(false)
  expect(formOf({ spec: { recoveryWindowHours: 24 } } as BackupSchedule, 'UTC').window).toBe('24')
})

test('what is kept, in words', () => {
  expect(keepsInWords({ keepLast: 3, keepDaily: 14, keepWeekly: 1 })).toBe('last 3, 14 days, 1 week')
  expect(keepsInWords(undefined)).toBe('')
})
