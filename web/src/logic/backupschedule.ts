import type { BackupSchedule } from '../api/objects'
import { count } from './quantity'

export type Retention = NonNullable<NonNullable<BackupSchedule['spec']>['retention']>

/** How long the name of a schedule may be: those of its backups begin with it. */
export const longestName = 49

/** What of a schedule a form asks for. Numbers are as they are typed; nothing for a rule that there is not. */
export interface ScheduleForm {
  schedule: string
  timeZone: string
  keepLast: string
  keepDaily: string
  keepWeekly: string
  keepMonthly: string
  /** How many hours back any moment can be restored; nothing for backups alone. */
  window: string
}

export const rules = ['keepLast', 'keepDaily', 'keepWeekly', 'keepMonthly'] as const

/** formOf is what a form begins with, for a schedule that is there or a new one. */
export function formOf(schedule: BackupSchedule | undefined, timeZone: string): ScheduleForm {
  const spec = schedule?.spec
  const keep: Retention = spec ? (spec.retention ?? {}) : { keepLast: 7 }
  const of = (rule: (typeof rules)[number]) => (keep[rule] ? String(keep[rule]) : '')
  return {
    schedule: spec?.schedule ?? '@daily',
    timeZone: spec?.timeZone ?? timeZone,
    keepLast: of('keepLast'),
    keepDaily: of('keepDaily'),
    keepWeekly: of('keepWeekly'),
    keepMonthly: of('keepMonthly'),
    window: spec?.recoveryWindowHours ? String(spec.recoveryWindowHours) : '',
  }
}

/** faultsOf says what is wrong in a form, by field, before the server is asked. It judges the times. */
export function faultsOf(form: ScheduleForm): Partial<Record<keyof ScheduleForm, string>> {
  const faults: Partial<Record<keyof ScheduleForm, string>> = {}
  for (const rule of rules) {
    if (form[rule] !== '' && !(/^\d{1,4}$/.test(form[rule]) && Number(form[rule]) >= 1 && Number(form[rule]) <= 1000))
      faults[rule] = 'A number from 1 to 1000, or nothing.'
  }
  if (rules.every((rule) => form[rule] === '')) faults.keepLast = 'Say how many are kept, here or below.'
  if (form.window !== '' && !(/^\d{1,4}$/.test(form.window) && Number(form.window) >= 1 && Number(form.window) <= 8784))
    faults.window = 'A number of hours from 1 to 8784, or nothing.'
  if (form.schedule.trim() === '') faults.schedule = 'Say when, such as @daily.'
  return faults
}

/** specOf is what a form says. In a change, what is no more is taken away by null. */
export function specOf(
  form: ScheduleForm,
  change: boolean,
): { schedule: string; timeZone: string; retention: Retention; recoveryWindowHours?: number } {
  const retention: Record<string, number | null> = {}
  for (const rule of rules) {
    if (form[rule] !== '') retention[rule] = Number(form[rule])
    else if (change) retention[rule] = null
  }
  const spec = { schedule: form.schedule.trim(), timeZone: form.timeZone, retention: retention as Retention }
  if (form.window === '' && !change) return spec
  return { ...spec, recoveryWindowHours: (form.window === '' ? null : Number(form.window)) as number }
}

/** keepsInWords says which backups are kept. */
export function keepsInWords(keep: Retention | undefined): string {
  const { keepLast, keepDaily, keepWeekly, keepMonthly } = keep ?? {}
  return [
    keepLast && `last ${keepLast}`,
    keepDaily && count(keepDaily, 'day'),
    keepWeekly && count(keepWeekly, 'week'),
    keepMonthly && count(keepMonthly, 'month'),
  ]
    .filter(Boolean)
    .join(', ')
}
