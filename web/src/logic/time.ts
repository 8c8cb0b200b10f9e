const units: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 365 * 24 * 3600],
  ['month', 30 * 24 * 3600],
  ['day', 24 * 3600],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
]

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'always', style: 'short' })

/** ago says when something was or will be, in the largest unit of which it is at least one; "just now" within 5 s. */
export function ago(at: Date, now: Date): string {
  const seconds = Math.round((at.getTime() - now.getTime()) / 1000)
  if (Math.abs(seconds) < 5) return 'just now'
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit)
  }
  return 'just now'
}

// To make one of these takes a millisecond, and lists have many times.
const precise = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'long' })

/** exact is a time with its zone, to the second. */
export function exact(at: Date): string {
  return precise.format(at)
}

/** lasted is a length of time as "2 h 5 min", of at most two units. */
export function lasted(milliseconds: number): string {
  const s = Math.max(0, Math.round(milliseconds / 1000))
  if (s < 60) return `${s} s`
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 ? ` ${s % 60} s` : ''}`
  if (s < 86400)
    return `${Math.floor(s / 3600)} h${Math.floor((s % 3600) / 60) ? ` ${Math.floor((s % 3600) / 60)} min` : ''}`
  return `${Math.floor(s / 86400)} d${Math.floor((s % 86400) / 3600) ? ` ${Math.floor((s % 86400) / 3600)} h` : ''}`
}
