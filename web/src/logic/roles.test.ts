import { describe, expect, test } from 'vitest'
import type { Me } from '../api/client'
import { may, mayAdminister, organizationsFor } from './roles'

const user = (roles: Record<string, string>, admin = false) =>
  ({ name: 'u', kind: 'user', admin, roles }) as unknown as Me

describe('may', () => {
  test.each([
    ['the role', { blue: 'operator' }, false, true],
    ['a higher one', { blue: 'owner' }, false, true],
    ['a lower one', { blue: 'developer' }, false, false],
    ['another organization', { red: 'owner' }, false, false],
    ['an administrator', {}, true, true],
  ] as const)('%s', (_, roles, admin, want) => {
    expect(may(user(roles, admin), 'blue', 'operator').allowed).toBe(want)
  })
  test('says why not', () => {
    expect(may(user({ blue: 'viewer' }), 'blue', 'operator').why).toBe(
      'This needs the role operator or higher in the organization blue; yours is viewer.',
    )
    expect(mayAdminister(user({ blue: 'owner' })).why).toMatch(/administrator/)
  })
})

test('organizationsFor', () => {
  expect(organizationsFor(user({ red: 'viewer', green: 'owner', blue: 'operator' }), 'operator')).toEqual([
    'blue',
    'green',
  ])
})
