import { expect, test } from 'vitest'
import { type BackupStore, emptyStore, faultsOf, placeOf, specOf } from './backupstore'

const s3 = { ...emptyStore, name: 'vault', endpoint: 'https://s3.example.com', bucket: 'backups' }

test('a form that is complete', () => {
  expect(faultsOf(s3)).toEqual({})
  expect(specOf(s3)).toEqual({
    s3: { endpoint: 'https://s3.example.com', region: 'us-east-1', bucket: 'backups' },
    maxBackups: 200,
  })
  const more = { ...s3, prefix: 'a/b', organizations: 'blue, green', recipients: 'age1x', maxBackups: '5' }
  expect(specOf(more)).toMatchObject({
    s3: { prefix: 'a/b' },
    organizationNames: ['blue', 'green'],
    recipients: ['age1x'],
    maxBackups: 5,
  })
  const folder = { ...s3, kind: 'directory' as const, directory: '/mnt/nas' }
  expect(specOf(folder)).toEqual({ directory: '/mnt/nas', maxBackups: 200 })
})

test.each([
  ['name', 'No'],
  ['endpoint', 'https://s3.example.com/bucket'],
  ['endpoint', 'http://s3.example.com'],
  ['bucket', 'a'],
  ['prefix', '/a'],
  ['region', ''],
  ['recipients', 'ssh-ed25519'],
  ['maxBackups', '0'],
] as const)('%s cannot be %j', (field, value) => {
  expect(Object.keys(faultsOf({ ...s3, [field]: value }))).toEqual([field])
})

test('plain HTTP is taken when it is allowed, and what is of the other kind is not looked at', () => {
  expect(faultsOf({ ...s3, endpoint: 'http://s3.example.com', allowHTTP: true })).toEqual({})
  expect(faultsOf({ ...s3, endpoint: '', kind: 'directory', directory: '/mnt' })).toEqual({})
  expect(faultsOf({ ...s3, kind: 'directory', directory: 'mnt' })).toHaveProperty('directory')
})

test('where a store is', () => {
  expect(placeOf({ spec: { directory: '/mnt' } } as BackupStore)).toBe('/mnt')
  const spec = { s3: { endpoint: 'https://s3', bucket: 'b', prefix: 'p' } }
  expect(placeOf({ spec } as BackupStore)).toBe('https://s3/b/p')
})
