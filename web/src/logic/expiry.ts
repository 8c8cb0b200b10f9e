/** How long a token may last, in days. */
export const lifetimes = [1, 7, 30, 90, 180, 365] as const

const day = 24 * 3600 * 1000

/** lifetimeName is how a choice of days is called. */
export function lifetimeName(days: number): string {
  if (days === 365) return '1 year'
  return days === 1 ? '1 day' : `${days} days`
}

/**
 * expiresAt is when a token of so many days ends, as RFC 3339 has it. A year is five minutes short: the server takes at most one, by a clock
 * of its own.
 */
export function expiresAt(days: number, now: Date): string {
  return new Date(now.getTime() + days * day - (days >= 365 ? 5 * 60_000 : 0)).toISOString()
}

export type Expiry = 'expired' | 'soon' | 'later'

/** expiry says whether something has expired, or will within a week. */
export function expiry(at: string, now: Date): Expiry {
  const left = new Date(at).getTime() - now.getTime()
  if (left <= 0) return 'expired'
  return left < 7 * day ? 'soon' : 'later'
}
