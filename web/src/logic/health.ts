import { type AnyObject, type Condition, condition } from '../api/objects'

export type Health = 'ready' | 'progressing' | 'failing' | 'unknown' | 'deleting' | 'asleep'

export interface Verdict {
  health: Health
  /** A word or two. */
  text: string
  /** Why, in the words of the controller. */
  message?: string
  since?: string
}

/** healthOf reads the conditions that every kind has: Ready, and beside it Reconciling and Stalled (kstatus). */
export function healthOf(o: AnyObject): Verdict {
  const ready = condition(o, 'Ready')
  const stalled = condition(o, 'Stalled')
  const about = (c?: Condition) => ({ message: c?.message, since: c?.lastTransitionTime })
  if (o.deletionRequestedAt) {
    // That all was well is of before, until the controller has seen the deletion.
    const message = ready?.status === 'True' ? undefined : ready?.message
    return { health: 'deleting', text: 'Deleting', message, since: o.deletionRequestedAt }
  }
  if (!ready) return { health: 'progressing', text: 'Pending' }
  if (stalled?.status === 'True') return { health: 'failing', text: 'Stalled', ...about(stalled) }
  if (ready.status === 'True' && ready.observedGeneration === o.generation)
    return { health: 'ready', text: 'Ready', ...about(ready) }
  if (ready.status === 'Unknown') return { health: 'unknown', text: 'Unknown', ...about(ready) }
  if (ready.reason === 'Asleep') return { health: 'asleep', text: 'Asleep', ...about(ready) }
  if (ready.status === 'True' || condition(o, 'Reconciling')?.status === 'True') {
    return { health: 'progressing', text: 'In progress', ...about(ready) }
  }
  return { health: 'failing', text: 'Not ready', ...about(ready) }
}
