import { Label, Tooltip } from '@patternfly/react-core'
import type { LiveState } from '../api/live'

const texts: Record<LiveState, { color: 'green' | 'grey' | 'orange'; text: string; about: string }> = {
  live: { color: 'green', text: 'Live', about: 'Changes are shown as they happen.' },
  connecting: { color: 'grey', text: 'Connecting', about: 'Waiting for changes.' },
  stale: {
    color: 'orange',
    text: 'Stale',
    about: 'The connection was lost: what you see may be old. It is tried again by itself.',
  },
}

/** LiveMark says whether a page moves by itself. */
export function LiveMark({ state }: { state: LiveState }) {
  const look = texts[state]
  return (
    <Tooltip content={look.about}>
      <Label isCompact color={look.color} variant="outline" tabIndex={0}>
        {look.text}
      </Label>
    </Tooltip>
  )
}
