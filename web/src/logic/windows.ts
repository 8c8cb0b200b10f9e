import type { Cluster } from '../api/objects'
import { momentFault } from './backup'
import { lasted } from './time'

type Spec = NonNullable<Cluster['spec']>
export type Hibernation = NonNullable<Spec['hibernation']>
export type Maintenance = NonNullable<Spec['maintenance']>
type Window = NonNullable<Maintenance['windows']>[number]

/** Windows are typed as the command line takes them: SCHEDULE=DURATION, one in a line. */
export const windowHelp = 'One in a line, as cron says it and for how long: 0 20 * * MON-FRI=11h. Nothing for none.'

const units: Record<string, number> = { m: 60, h: 3600, d: 86_400 }

/** secondsOf reads a length such as 11h, 90m, 1h30m or 2d. */
function secondsOf(text: string): number | undefined {
  if (!/^(\d{1,5}[mhd])+$/.test(text)) return
  const parts = [...text.matchAll(/(\d+)([mhd])/g)]
  return parts.reduce((sum, [, n, unit]) => sum + Number(n) * (units[unit ?? ''] ?? 0), 0)
}

/** lengthOf writes a length as secondsOf reads it. */
function lengthOf(seconds: number): string {
  const [h, m] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)]
  return `${h ? `${h}h` : ''}${m || !h ? `${m}m` : ''}`
}

const lines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

function windowOf(line: string): Window | undefined {
  const at = line.lastIndexOf('=')
  const durationSeconds = secondsOf(line.slice(at + 1).trim())
  const schedule = line.slice(0, Math.max(at, 0)).trim()
  if (!schedule || durationSeconds === undefined) return
  return { schedule, durationSeconds }
}

/** windowsOf are the windows that a text says; lines that say none are left out, and windowsFault has them. */
export const windowsOf = (text: string): Window[] => lines(text).flatMap((line) => windowOf(line) ?? [])

/** windowsFault says which line is no window. */
export function windowsFault(text: string): string | undefined {
  for (const line of lines(text)) {
    const window = windowOf(line)
    if (!window) return `“${line}” has to be SCHEDULE=DURATION, such as 0 20 * * MON-FRI=11h`
    if (window.durationSeconds < 900 || window.durationSeconds > 604_800)
      return `“${line}” has to last from 15 minutes (15m) to 7 days (7d)`
  }
  return undefined
}

/** windowsText is what windowsOf reads. */
export const windowsText = (windows: readonly Window[] | null | undefined): string =>
  (windows ?? []).map((one) => `${one.schedule}=${lengthOf(one.durationSeconds)}`).join('\n')

export interface SleepForm {
  whenIdle: boolean
  idleMinutes: string
  windows: string
  timeZone: string
}

/** sleepForm is what a form begins with. */
export function sleepForm(of: Hibernation | undefined, zone: string): SleepForm {
  return {
    whenIdle: !!of?.whenIdle,
    idleMinutes: String(Math.round((of?.idleSeconds ?? 900) / 60)),
    windows: windowsText(of?.windows),
    timeZone: of?.timeZone ?? zone,
  }
}

/** idleFault says what is wrong with the minutes after which a cluster is idle. */
export function idleFault(minutes: string): string | undefined {
  const n = Number(minutes)
  return /^\d{1,5}$/.test(minutes) && n >= 1 && n <= 10_080
    ? undefined
    : 'A number of minutes from 1 to 10080 (7 days).'
}

/** hibernationOf is what a form says, as a merge patch: null takes away. When users asked for sleep last stays. */
export function hibernationOf(form: SleepForm) {
  const windows = windowsOf(form.windows)
  return {
    whenIdle: form.whenIdle || null,
    idleSeconds: Number(form.idleMinutes) * 60,
    windows: windows.length > 0 ? windows : null,
    timeZone: windows.length > 0 ? form.timeZone : null,
  }
}

export interface MaintenanceForm {
  windows: string
  timeZone: string
  freeze: string
  channel: string
}

export function maintenanceForm(of: Maintenance | undefined, zone: string): MaintenanceForm {
  return {
    windows: windowsText(of?.windows),
    timeZone: of?.timeZone ?? zone,
    freeze: of?.freezeEndTime ?? '',
    channel: of?.upgradeChannel ?? 'None',
  }
}

/** freezeFault says what is wrong with the end of a freeze; nothing for none. */
export function freezeFault(text: string, now: Date): string | undefined {
  if (text.trim() === '') return undefined
  const wrong = Number.isNaN(new Date(text.trim()).getTime())
  if (wrong) return 'A time such as 2027-01-07 09:00, or nothing.'
  return momentFault(text, now) ? undefined : 'That is in the past.'
}

/** maintenanceOf is what a form says, as a merge patch: null takes away. */
export function maintenanceOf(form: MaintenanceForm) {
  const windows = windowsOf(form.windows)
  const freeze = form.freeze.trim()
  return {
    windows: windows.length > 0 ? windows : null,
    timeZone: windows.length > 0 ? form.timeZone : null,
    freezeEndTime: freeze ? new Date(freeze).toISOString().replace(/\.\d+Z$/, 'Z') : null,
    upgradeChannel: form.channel,
  }
}

const inWindows = (windows: readonly Window[], zone: string | undefined) =>
  `${windows.map((one) => `${one.schedule} for ${lasted(one.durationSeconds * 1000)}`).join('; ')} (${zone ?? 'UTC'})`

/** sleepInWords says when a cluster sleeps by itself. */
export function sleepInWords(of: Hibernation | undefined): string {
  const parts = [
    of?.whenIdle && `when it was idle for ${lasted((of.idleSeconds ?? 900) * 1000)}`,
    of?.windows?.length && `in windows: ${inWindows(of.windows, of.timeZone)}`,
  ].filter(Boolean)
  return parts.length > 0 ? parts.join('; ') : 'never by itself'
}

/** maintenanceInWords says when steps of upgrades may begin. */
export function maintenanceInWords(of: Maintenance | undefined): string {
  return of?.windows?.length ? inWindows(of.windows, of.timeZone) : 'at any time'
}
