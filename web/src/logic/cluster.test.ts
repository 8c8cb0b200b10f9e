import { describe, expect, it, test } from 'vitest'
import type { Me } from '../api/client'
import type { Cluster, Condition } from '../api/objects'
import { accessesOf, highestAccess, isAdopted, nextStep, partsOf, withAddon, withoutAddon } from './cluster'

const on = (type: string, status: Condition['status'], reason: string, message = '') =>
  ({ type, status, reason, message, lastTransitionTime: '2026-11-25T14:57:29Z' }) as Condition

const cluster = (conditions: Condition[], version?: string) =>
  ({ name: 'demo', spec: { version }, status: { conditions } }) as unknown as Cluster

test('a cluster without a version is adopted', () => {
  expect(isAdopted(cluster([]))).toBe(true)
  expect(isAdopted(cluster([], 'v1.36.3'))).toBe(false)
})

describe('partsOf', () => {
  it.each([
    ['True', 'Provisioned', 'good', 'The cluster exists and its API server is healthy'],
    ['False', 'Provisioning', 'working', 'The provisioner is at work'],
    ['False', 'ProvisionerFailed', 'bad', 'The cluster is not there, or not healthy'],
    ['Unknown', 'ProvisionerUnreachable', 'unknown', 'Not known: the cluster exists and its API server is healthy'],
  ] as const)('Provisioned %s %s', (status, reason, state, title) => {
    expect(partsOf(cluster([on('Provisioned', status, reason, 'why')]))).toEqual([
      { type: 'Provisioned', title, state, message: 'why', since: '2026-11-25T14:57:29Z' },
    ])
  })
  it('of one that is being deleted goes on', () => {
    const deleted = { ...cluster([on('AddonsReady', 'False', 'Gone')]), deletionRequestedAt: '2026-11-25T15:00:00Z' }
    expect(partsOf(deleted)[0]?.state).toBe('working')
  })
  it('has the order in which they come true', () => {
    const found = partsOf(cluster([on('Ready', 'True', 'Ready'), on('Accepted', 'True', 'Accepted')]))
    expect(found.map((part) => part.type)).toEqual(['Accepted', 'Ready'])
  })
})

describe('nextStep', () => {
  it.each([
    [[on('Accepted', 'True', 'Accepted'), on('Ready', 'True', 'Ready')], undefined],
    [[on('Accepted', 'False', 'Refused')], 'Change the field that the message names, in the tab YAML.'],
    [[on('Provisioned', 'False', 'Provisioning')], undefined],
    [
      [on('AddonsReady', 'False', 'AddonsFailed'), on('Provisioned', 'False', 'Degraded')],
      'Its components are restarted by themselves. If it lasts, look at the tab Activity.',
    ],
  ])('%#', (conditions, want) => {
    expect(nextStep(cluster(conditions))).toBe(want)
  })
})

describe('addons', () => {
  const settings = [{ name: 'coredns', values: { replicas: 3 } }] as never
  it('switches one and keeps its values', () => {
    expect(withAddon(settings, 'coredns', false)).toEqual([
      { name: 'coredns', values: { replicas: 3 }, enabled: false },
    ])
  })
  it('adds one that was not said', () => {
    expect(withAddon(undefined, 'traefik', true)).toEqual([{ name: 'traefik', enabled: true }])
  })
  it('forgets one', () => {
    expect(withoutAddon(settings, 'coredns')).toEqual([])
    expect(withoutAddon(settings, 'traefik')).toHaveLength(1)
  })
})

describe('access', () => {
  const me = (role: string | undefined, admin = false) =>
    ({ kind: 'user', admin, roles: role ? { blue: role } : {} }) as unknown as Me
  it.each([
    [me('viewer'), 'view'],
    [me('developer'), 'edit'],
    [me('operator'), 'cluster-admin'],
    [me('owner'), 'cluster-admin'],
    [me(undefined), undefined],
    [me(undefined, true), 'cluster-admin'],
  ])('the highest of %#', (who, want) => {
    expect(highestAccess(who, 'blue')).toBe(want)
  })
  it('says why not', () => {
    expect(accessesOf(me('viewer'), 'blue')[1]?.permission.why).toContain('developer')
  })
})
