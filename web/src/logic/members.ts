import type { Me, Schemas } from '../api/client'
import { allowed, may, mayAdminister, type Permission, type Role, roles } from './roles'

export type Member = Schemas['Member']
export type MemberKind = 'user' | 'group'

/** memberId names a member as the API and the command line do. */
export function memberId(kind: MemberKind, name: string): string {
  return `${kind}:${name.trim()}`
}

/** memberError says what is wrong with the name of a member that is to be added; undefined when nothing is. */
export function memberError(kind: MemberKind, name: string, members: Member[]): string | undefined {
  const text = name.trim()
  if (text === '') return 'Write a name.'
  if (text.length > 256) return 'A name has at most 256 characters.'
  if (members.some((m) => m.id === memberId(kind, text)))
    return 'This member is there already. Change the role instead.'
  if (kind === 'group' && !text.includes(':'))
    return 'Write the identity provider before the group, as in corp:payments-developers.'
  return undefined
}

/** isLastOwner says whether the organization would have no owner without a member. */
export function isLastOwner(members: Member[], member: Member): boolean {
  return member.role === 'owner' && !members.some((m) => m.role === 'owner' && m.id !== member.id)
}

/** mayLoseOwner says whether a user may remove a member, or give it a lower role. Only administrators leave an organization without an owner. */
export function mayLoseOwner(me: Me, organization: string, members: Member[], member: Member): Permission {
  const permission = may(me, organization, 'owner')
  if (!permission.allowed || !isLastOwner(members, member) || mayAdminister(me).allowed) return permission
  return { allowed: false, why: 'This is the last owner. Make another member owner first.' }
}

/** isRaise says whether one role includes another and is not it. */
export function isRaise(from: Role, to: Role): boolean {
  return roles.indexOf(to) > roles.indexOf(from)
}

/** What each role may do, in a sentence, from docs/reference/roles.md. */
export const roleTexts: Record<Role, string> = {
  viewer: 'Sees clusters, what runs in them, the inventory and the quota.',
  developer: 'All that a viewer may, and changes what runs in clusters.',
  operator: 'All that a developer may, and creates, changes, deletes and administers clusters and node pools.',
  owner: 'All that an operator may, and manages members, service accounts and provisioners.',
}

/** isLocal says whether a user signs in with a password of this installation. Names of others begin with their identity provider and a colon. */
export function isLocal(me: Pick<Me, 'name' | 'kind'>): Permission {
  if (me.kind !== 'user') return { allowed: false, why: 'Only users who sign in with a password have one.' }
  if (me.name.includes(':'))
    return { allowed: false, why: 'You sign in by an identity provider: change your password there.' }
  return allowed
}
