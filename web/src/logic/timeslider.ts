/** How far back the slider goes, in days. The date and time beside it reach further: the history goes back 400 days. */
export const sliderDays = 90

const hour = 3600_000
const day = 24 * hour

/** What a question about the inventory is asked as of: now, a time, or what changed between two (until now without `to`). */
export type Moment = { kind: 'now' } | { kind: 'at'; at: Date } | { kind: 'between'; from: Date; to?: Date }

/** The texts of a moment in a URL and in a query. */
export interface Times {
  at?: string
  from?: string
  to?: string
}

function timeOf(text: string | undefined): Date | undefined {
  const at = text ? new Date(text) : undefined
  return at && !Number.isNaN(at.getTime()) ? at : undefined
}

/** momentOf reads a moment from a URL; what is no time is left out. */
export function momentOf(times: Times): Moment {
  const from = timeOf(times.from)
  if (from) return { kind: 'between', from, to: timeOf(times.to) }
  const at = timeOf(times.at)
  return at ? { kind: 'at', at } : { kind: 'now' }
}

/** timesOf writes a moment for a URL or a query, to the second, in UTC. */
export function timesOf(moment: Moment): Times {
  if (moment.kind === 'at') return { at: stamp(moment.at) }
  if (moment.kind === 'between') return { from: stamp(moment.from), to: moment.to && stamp(moment.to) }
  return {}
}

/** stamp is a time in UTC to the second, as RFC 3339 has it. */
export function stamp(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`
}

/** asOne is the moment for a question that compares nothing: the end of what would be compared. */
export function asOne(moment: Moment): Moment {
  if (moment.kind !== 'between') return moment
  return moment.to ? { kind: 'at', at: moment.to } : { kind: 'now' }
}

export interface Preset {
  name: string
  at: Date
}

/** presets are times that are often asked for. Days begin at midnight, UTC, as on the command line. */
export function presets(now: Date): Preset[] {
  const today = Math.floor(now.getTime() / day) * day
  return [
    { name: '1 hour ago', at: new Date(now.getTime() - hour) },
    { name: 'Yesterday', at: new Date(today - day) },
    { name: 'Last Tuesday', at: lastDay(2, now) },
    { name: '30 days ago', at: new Date(now.getTime() - 30 * day) },
  ]
}

/** lastDay is the begin (UTC) of the last such day of the week before today; 0 is Sunday. */
export function lastDay(weekday: number, now: Date): Date {
  const today = Math.floor(now.getTime() / day) * day
  const back = (new Date(today).getUTCDay() - weekday + 6) % 7
  return new Date(today - (back + 1) * day)
}

/** daysBack is how many whole days before now a moment is, as the slider shows it: from 0 to sliderDays. */
export function daysBack(moment: Moment, now: Date): number {
  const at = moment.kind === 'between' ? moment.from : moment.kind === 'at' ? moment.at : now
  return Math.min(sliderDays, Math.max(0, Math.floor((now.getTime() - at.getTime()) / day)))
}

/** movedTo is the moment that the slider asks for: so many days ago, at this time of the day. */
export function movedTo(days: number, moment: Moment, now: Date): Moment {
  const at = new Date(now.getTime() - days * day)
  if (moment.kind !== 'between') return days === 0 ? { kind: 'now' } : { kind: 'at', at }
  return { ...moment, from: days === 0 ? new Date(now.getTime() - hour) : at }
}

/** wrongWith says why a moment cannot be asked for; undefined when it can. */
export function wrongWith(moment: Moment, now: Date): string | undefined {
  const ahead = (at?: Date) => at && at.getTime() > now.getTime() + 60_000
  if (moment.kind === 'at' && ahead(moment.at)) return 'This time has not come yet.'
  if (moment.kind !== 'between') return undefined
  if (ahead(moment.from) || ahead(moment.to)) return 'This time has not come yet.'
  if (moment.from.getTime() >= (moment.to ?? now).getTime()) return 'The first time has to be before the second.'
  return undefined
}

/** localInput is a time as an input of type datetime-local has it, in the time zone of the browser. */
export function localInput(at: Date): string {
  const two = (n: number) => String(n).padStart(2, '0')
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${date}T${two(at.getHours())}:${two(at.getMinutes())}`
}

/** fromLocalInput reads what localInput writes; undefined while it is not whole. */
export function fromLocalInput(text: string): Date | undefined {
  return /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/.test(text) ? timeOf(text) : undefined
}

/** momentFlags are the flags of the command line for a moment, with a space before, or nothing. */
export function momentFlags(moment: Moment): string {
  const times = timesOf(moment)
  const flag = (name: keyof Times) => (times[name] ? ` --${name} ${times[name]}` : '')
  return flag('at') + flag('from') + flag('to')
}
