import { Tooltip } from '@patternfly/react-core'
import { useSyncExternalStore } from 'react'
import { ago, exact } from '../logic/time'

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
  if (!at) return <span>{none}</span>
  const time = new Date(at)
  return (
    <Tooltip content={exact(time)}>
      <time dateTime={at}>
        {ago(time, current.getTime() < time.getTime() && time.getTime() - current.getTime() < 6000 ? time : current)}
      </time>
    </Tooltip>
  )
}
