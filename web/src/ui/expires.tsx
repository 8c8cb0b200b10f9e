import { Label } from '@patternfly/react-core'
import { expiry } from '../logic/expiry'
import { Age, useNow } from './age'

/** Expires says when something ends, and whether that is soon. */
export function Expires({ at, quiet }: { at: string; quiet?: boolean }) {
  const state = expiry(at, useNow())
  if (state === 'expired')
    return (
      <Label isCompact status="danger">
        Expired
      </Label>
    )
  if (state === 'later' || quiet) return <Age at={at} />
  return (
    <Label isCompact status="warning">
      <Age at={at} />
    </Label>
  )
}
