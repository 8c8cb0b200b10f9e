import { describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { contextsOf, reduce } from './kubeconfig'

const config = (user: object, cluster: object = {}) =>
  stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'far',
    contexts: [
      { name: 'far', context: { cluster: 'c', user: 'u', namespace: 'x' } },
      { name: 'near', context: { cluster: 'other', user: 'secret' } },
      { name: 'broken', context: { cluster: 'c', user: 'nobody' } },
    ],
    clusters: [
      { name: 'c', cluster: { server: 'https://far:6443', ...cluster } },
      { name: 'other', cluster: { server: 'https://near:6443' } },
    ],
    users: [
      { name: 'u', user },
      { name: 'secret', user: { token: 'never' } },
    ],
  })

it('lists contexts', () => {
  expect(contextsOf(config({ token: 't' }))).toEqual({ contexts: ['far', 'near', 'broken'], current: 'far' })
})

it.each([
  ['', /not a kubeconfig/],
  ['a: [secret', /not YAML/],
  ['contexts: []', /no context/],
  ['x'.repeat((1 << 20) + 1), /1 MiB/],
])('refuses what is no kubeconfig', (text, why) => {
  expect(() => contextsOf(text)).toThrow(why)
  expect(() => contextsOf(text)).not.toThrow(/secret/)
})

describe('reduce', () => {
  it('takes one context and nothing else', () => {
    const { kubeconfig, ...told } = reduce(config({ token: 't' }), 'far')
    expect(told).toEqual({ context: 'far', server: 'https://far:6443', user: 'u', proof: 'a token' })
    expect(kubeconfig).not.toContain('never')
    expect(parse(kubeconfig)).toMatchObject({ 'current-context': 'far', users: [{ name: 'u', user: { token: 't' } }] })
  })

  it.each<[string, object, object, string, RegExp]>([
    ['a program', { exec: { command: 'aws' } }, {}, 'far', /program \(exec\)/],
    ['a provider', { 'auth-provider': { name: 'gcp' } }, {}, 'far', /auth-provider/],
    ['a file', { 'client-key': '/x' }, {}, 'far', /names a file \(client-key\)/],
    ['a file of the cluster', { token: 't' }, { 'certificate-authority': 'ca' }, 'far', /kubectl config view/],
    ['no verification', { token: 't' }, { 'insecure-skip-tls-verify': true }, 'far', /insecure-skip-tls-verify/],
    ['a proxy', { token: 't' }, { 'proxy-url': 'http://x' }, 'far', /proxy-url/],
    ['impersonation', { token: 't', as: 'root' }, {}, 'far', /has as,/],
    ['no such context', { token: 't' }, {}, 'away', /no context away/],
    ['no such user', { token: 't' }, {}, 'broken', /does not have/],
  ])('refuses %s', (_, user, cluster, context, why) => {
    expect(() => reduce(config(user, cluster), context)).toThrow(why)
  })

  it.each([
    [{ 'client-certificate-data': 'x', 'client-key-data': 'y' }, 'a client certificate with its key'],
    [{ username: 'a', password: 'b' }, 'a name and a password'],
    [{}, 'nothing'],
  ])('says what proves %j', (user, proof) => expect(reduce(config(user), 'far').proof).toBe(proof))
})
