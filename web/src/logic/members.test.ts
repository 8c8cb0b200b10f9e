import { describe, expect, test } from 'vitest'
import type { Me } from '../api/client'
import { isLastOwner, isLocal, isRaise, type Member, mayLoseOwner, memberError } from './members'

const member = (id: string, role: string): Member => ({ id, role })
const alice = member('user:alice', 'owner')
const victor = member('user:victor', 'viewer')

test.each([
  ['user', '', /Write a name/],
  ['user', 'alice', /already/],
  ['user', ' alice ', /already/],
  ['group', 'developers', /identity provider/],
  ['group', 'corp:developers', undefined],
  ['user', 'corp:bob@example.com', undefined],
  ['user', 'x'.repeat(257), /256/],
] as const)('memberError of %s %s', (kind, name, want) => {
  const error = memberError(kind, name, [alice, victor])
  if (want) expect(error).toMatch(want)
  else expect(error).toBeUndefined()
})

describe('the last owner', () => {
  const me = (admin: boolean) => ({ name: 'alice', kind: 'user', admin, roles: { blue: 'owner' } }) as unknown as Me
  test.each([
    ['stays', false, [alice, victor], alice, false],
    ['goes when there is another', false, [alice, member('group:corp:leads', 'owner')], alice, true],
    ['goes by an administrator', true, [alice, victor], alice, true],
    ['is none of the others', false, [alice, victor], victor, true],
  ] as const)('%s', (_, admin, members, who, want) => {
    expect(mayLoseOwner(me(admin), 'blue', [...members], who).allowed).toBe(want)
  })
  test('isLastOwner', () => {
    expect(isLastOwner([alice, victor], alice)).toBe(true)
    expect(isLastOwner([alice, victor], victor)).toBe(false)
  })
})

test('isRaise', () => {
  expect(isRaise('viewer', 'operator')).toBe(true)
  expect(isRaise('owner', 'owner')).toBe(false)
  expect(isRaise('owner', 'viewer')).toBe(false)
})

test.each([
  ['alice', 'user', true],
  ['corp:alice@example.com', 'user', false],
  ['sa:payments:ci', 'serviceAccount', false],
])('isLocal(%s)', (name, kind, want) => {
  expect(isLocal({ name, kind }).allowed).toBe(want)
})
