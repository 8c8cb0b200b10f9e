import { expect, test } from 'vitest'
import {
  freezeFault,
  hibernationOf,
  idleFault,
  maintenanceForm,
  maintenanceInWords,
  maintenanceOf,
  sleepForm,
  sleepInWords,
  windowsFault,
  windowsOf,
  windowsText,
} from './windows'

const now = new Date('2026-11-25T20:46:10Z')
const nights = '0 20 * * MON-FRI=11h'

test.each([
  [nights, [{ schedule: '0 20 * * MON-FRI', durationSeconds: 39_600 }]],
  [
    ' @daily = 1h30m \n\n@weekly=2d',
    [
      { schedule: '@daily', durationSeconds: 5400 },
      { schedule: '@weekly', durationSeconds: 172_800 },
    ],
  ],
  ['', []],
])('%j says windows', (text, want) => {
  expect(windowsFault(text)).toBeUndefined()
  expect(windowsOf(text)).toEqual(want)
  expect(windowsOf(windowsText(want))).toEqual(want)
})

test.each(['@daily', '@daily=', '=1h', '@daily=1', '@daily=10m', '@daily=8d', `${nights}\nx`])(
  '%j is wrong',
  (text) => {
    expect(windowsFault(text)).toBeTruthy()
  },
)

test('a form that was not changed says what was there', () => {
  const hibernation = { whenIdle: true, idleSeconds: 1800, windows: windowsOf(nights), timeZone: 'Europe/Prague' }
  expect(hibernationOf(sleepForm(hibernation, 'UTC'))).toEqual(hibernation)
  const freezeEndTime = '2027-01-07T09:00:00Z'
  const maintenance = { windows: windowsOf(nights), timeZone: 'UTC', freezeEndTime, upgradeChannel: 'Patch' as const }
  expect(maintenanceOf(maintenanceForm(maintenance, 'Europe/Prague'))).toEqual(maintenance)
})

test('what is no more is taken away', () => {
  const none = { whenIdle: null, idleSeconds: 900, windows: null, timeZone: null }
  expect(hibernationOf(sleepForm(undefined, 'UTC'))).toEqual(none)
  const any = { windows: null, timeZone: null, freezeEndTime: null, upgradeChannel: 'None' }
  expect(maintenanceOf(maintenanceForm(undefined, 'UTC'))).toEqual(any)
})

test('in words', () => {
  expect(sleepInWords(undefined)).toBe('never by itself')
  expect(sleepInWords({ whenIdle: true })).toBe('when it was idle for 15 min')
  expect(sleepInWords({ windows: windowsOf(nights) })).toBe('in windows: 0 20 * * MON-FRI for 11 h (UTC)')
  expect(maintenanceInWords(undefined)).toBe('at any time')
})

test.each(['0', '10081', 'x', ''])('%j minutes are wrong', (minutes) => {
  expect(idleFault(minutes)).toBeTruthy()
})

test('a freeze ends in the future', () => {
  expect(freezeFault('', now)).toBeUndefined()
  expect(freezeFault('2027-01-07 09:00', now)).toBeUndefined()
  expect(freezeFault('2025-01-07 09:00', now)).toBeTruthy()
  expect(freezeFault('soon', now)).toBeTruthy()
})
