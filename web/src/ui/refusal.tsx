import { Alert, AlertActionLink } from '@patternfly/react-core'
import { ApiError } from '../api/client'
import { ProblemAlert } from './problem'

/**
 * Refusal says why something was refused. What grants access needs a session of the last 15 minutes: then it leads to the sign-in page, in
 * another tab, so that what was entered here stays.
 */
export function Refusal({ error }: { error: unknown }) {
  if (!(error instanceof ApiError) || error.problem.code !== 'needs-fresh-session')
    return <ProblemAlert error={error} />
  return (
    <Alert
      isInline
      component="p"
      variant="warning"
      title="Sign in again to go on"
      actionLinks={
        <AlertActionLink component="a" href="/signin?next=/portal/" target="_blank" rel="noreferrer">
          Sign in again in another tab
        </AlertActionLink>
      }
    >
      This grants access, so it needs a sign-in of the last 15 minutes. Nothing has been changed. Sign in again, come
      back to this tab, and repeat it: what you entered is still here.
    </Alert>
  )
}
