import type { Me } from '../api/client'

/** The roles in organizations, from the lowest. See docs/reference/roles.md. */
export const roles = ['viewer', 'developer', 'operator', 'owner'] as const
export type Role = (typeof roles)[number]

/** Whether a user may do something and, if not, why, in words for that user. */
export interface Permission {
  allowed: boolean
  why?: string
}

export const allowed: Permission = { allowed: true }

/** may says whether a user has a role in an organization, or a higher one. Administrators of the installation have every right. */
export function may(me: Me, organization: string | undefined, needed: Role): Permission {
  if (me.admin || me.kind === 'owner') return allowed
  const has = organization ? me.roles[organization] : undefined
  if (has && roles.indexOf(has as Role) >= roles.indexOf(needed)) return allowed
  const your = has ? `yours is ${has}` : 'you are no member of it'
  const needs = needed === 'owner' ? 'the role owner' : `the role ${needed} or higher`
  return {
    allowed: false,
    why: `This needs ${needs} in the organization ${organization ?? ''}; ${your}.`.replace('  ', ' '),
  }
}

/** mayAdminister says whether a user administers the installation. */
export function mayAdminister(me: Me): Permission {
  return me.admin || me.kind === 'owner'
    ? allowed
    : { allowed: false, why: 'This needs an administrator of the installation.' }
}

/** organizationsFor are the organizations of a user in which they have a role or a higher one, in order. */
export function organizationsFor(me: Me, needed: Role): string[] {
  return Object.keys(me.roles)
    .filter((organization) => may(me, organization, needed).allowed)
    .sort()
}
