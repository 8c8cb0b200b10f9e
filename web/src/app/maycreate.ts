import { allowed, may, mayAdminister, organizationsFor, type Permission } from '../logic/roles'
import { useMe } from './queries'

/** useMayCreate says whether a user may create clusters: in the organization that is chosen, or in any. */
export function useMayCreate(org?: string): Permission {
  const me = useMe()
  if (org) return may(me, org, 'operator')
  if (mayAdminister(me).allowed || organizationsFor(me, 'operator').length > 0) return allowed
  return { allowed: false, why: 'This needs the role operator or higher in an organization; you have it in none.' }
}
