import { expect, test } from 'vitest'
import { auditCommand, auditParameters, auditPath, auditQueryOf, headOf, verdictOf } from './auditquery'

const now = new Date('2026-11-25T12:00:00Z')
const hash = 'a'.repeat(64)

test.each([
  [{}, { limit: 50 }],
  [
    { actor: ' alice ', outcome: 'denied', cursor: 'c' },
    { limit: 50, actor: 'alice', outcome: 'denied', cursor: 'c' },
  ],
  [{ outcome: 'perhaps', since: 'soon', org: 'x' }, { limit: 50 }],
  [{ since: '2026-11-24T12:00:00Z' }, { limit: 50, since: '2026-11-24T12:00:00.000Z' }],
])('auditQueryOf %o', (search, want) => {
  expect(auditQueryOf(search, 50)).toEqual(want)
})

test('paths and commands', () => {
  expect(auditPath('blue', '/export')).toBe('/api/v1/organizations/blue/audit/export')
  expect(auditPath(undefined)).toBe('/api/v1/audit')
  expect(auditParameters({ limit: 5, kind: 'Cluster' })).toBe('?limit=5&kind=Cluster')
  expect(auditCommand('blue', { limit: 5 }, now)).toBe('kqueen audit list --org blue')
  expect(auditCommand(undefined, { limit: 5, actor: 'a b', since: '2026-11-24T11:30:00Z' }, now)).toBe(
    "kqueen audit list -A --actor 'a b' --since 25h",
  )
})

test.each([
  [
    { records: 1, head: { sequence: 1, hash }, problems: null },
    undefined,
    true,
    /1 record checked/,
    /keep the one below/,
  ],
  [
    { records: 2000, head: { sequence: 2000, hash }, problems: [] },
    { sequence: 5 },
    true,
    /2,000 records/,
    /from record 5/,
  ],
  [
    { records: 3, head: { sequence: 3, hash }, problems: [{ first: 2, last: 2, detail: 'x' }] },
    undefined,
    false,
    /in 1 place$/,
    /copy/,
  ],
  [
    { records: 3, head: { sequence: 3, hash }, problems: [{ first: 2, last: 2, detail: 'x' }], more: true },
    undefined,
    false,
    /in 1 or more places$/,
    /copy/,
  ],
])('verdictOf %#', (report, against, whole, title, text) => {
  const got = verdictOf(report, against)
  expect(got.whole).toBe(whole)
  expect(got.title).toMatch(title)
  expect(got.text).toMatch(text)
})

test('headOf', () => {
  expect(headOf(` 42:${hash} `)).toEqual({ sequence: 42, hash })
  expect(headOf('42:abc')).toBeUndefined()
  expect(headOf(hash)).toBeUndefined()
})
