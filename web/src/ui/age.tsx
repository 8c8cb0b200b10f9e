import { useRef, useSyncExternalStore } from 'react'
import { ago, exact } from '../logic/time'
import { Hint } from './hint'

const listeners = new Set<() => void>()
let now = Date.now()
let ticking: ReturnType<typeof setInterval> | undefined

/** One clock for all ages on a page. */
function watchClock(changed: () => void) {
  listeners.add(changed)
  ticking ??= setInterval(() => {
    now = Date.now()
    for (const listener of listeners) listener()
  }, 5000)
  return () => {
    listeners.delete(changed)
    if (listeners.size === 0) {
      clearInterval(ticking)
      ticking = undefined
    }
  }
}

/** useNow is the time, moved on every five seconds. */
export function useNow(): Date {
  return new Date(useSyncExternalStore(watchClock, () => now))
}

/** Age shows when something was, relative to now; the exact time is shown when one points at it. */
export function Age({ at, none = '–' }: { at?: string | null; none?: string }) {
  const current = useNow()
  const where = useRef<HTMLTimeElement>(null)
  if (!at) return <span>{none}</span>
  const time = new Date(at)
  // Clocks differ: what has just been is not "in 2 seconds".
  const ahead = time.getTime() - current.getTime()
  return (
    <>
      <time ref={where} dateTime={at}>
        {ago(time, ahead > 0 && ahead < 6000 ? time : current)}
      </time>
      <Hint of={where} text={exact(time)} />
    </>
  )
}
