import { useLive } from '../../api/live'
import { useMe } from '../../app/queries'
import { mayAdminister } from '../../logic/roles'

/** useOrganizationsLive follows organizations. Only administrators may watch them: for others they are asked again from time to time, in milliseconds. */
export function useOrganizationsLive() {
  const watches = mayAdminister(useMe()).allowed
  const state = useLive(watches ? '/api/v1/organizations' : undefined, [['organizations']])
  return watches ? { live: state, refetchInterval: false as const } : { live: undefined, refetchInterval: 15_000 }
}
