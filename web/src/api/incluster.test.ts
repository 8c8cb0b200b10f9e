import { expect, test } from 'vitest'
import { base64url, podPath, reasonOf } from './incluster'

const at = {
  organization: 'blue',
  cluster: 'c',
  clusterUID: 'u',
  namespace: 'n',
  pod: '../../secrets',
  container: 'a&b',
}

test('podPath keeps names in their places', () => {
  expect(podPath(at, 'log', { follow: 'true' })).toBe(
    '/clusters/blue/c/api/v1/namespaces/n/pods/..%2F..%2Fsecrets/log?container=a%26b&follow=true',
  )
})

test.each([
  ['{"status":"Success"}', ''],
  ['{"status":"Failure","message":"command terminated with exit code 1"}', 'command terminated with exit code 1'],
  ['no JSON', 'no JSON'],
])('reasonOf %s', (text, want) => {
  expect(reasonOf(text)).toBe(want)
})

test('base64url', () => {
  expect(base64url('a>?b??')).toBe('YT4_Yj8_')
})
