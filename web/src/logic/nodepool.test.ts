import { describe, expect, it } from 'vitest'
import { emptyPool, faultsOf, type PoolForm, poolOf, replicasFault } from './nodepool'

const form = (more: Partial<PoolForm>): PoolForm => ({ ...emptyPool, name: 'gpu', ...more })

describe('faultsOf', () => {
  it.each<[Partial<PoolForm>, string[]]>([
    [{}, []],
    [{ name: '' }, ['name']],
    [{ name: '2gpu' }, ['name']],
    [{ name: 'gpu-' }, ['name']],
    [{ nodes: '' }, ['nodes']],
    [{ nodes: '1001' }, ['nodes']],
    [{ nodes: '0' }, []],
    [{ nodes: '1', min: '2' }, ['nodes']],
    [{ nodes: '3', min: '3', max: '2' }, ['nodes', 'max']],
    [{ min: 'a' }, ['min']],
    [{ scaledBy: 'pods', nodes: '0', max: '3' }, []],
    [{ scaledBy: 'pods' }, ['max']],
    [{ scaledBy: 'pods', max: '3', provider: 'manual' }, ['scaledBy']],
    [{ cpu: '500m', memory: '4Gi', volumes: '50Gi' }, []],
    [{ cpu: 'two' }, ['cpu']],
    [{ labels: 'a=b\n\n  c=d ' }, []],
    [{ labels: 'a' }, ['labels']],
    [{ taints: 'gpu=yes:NoSchedule\ngpu:NoExecute' }, []],
    [{ taints: 'gpu=yes' }, ['taints']],
    [{ taints: 'gpu=yes:Never' }, ['taints']],
  ])('%j', (more, want) => {
    expect(Object.keys(faultsOf(form(more)))).toEqual(want)
  })
})

describe('replicasFault', () => {
  it.each([
    ['2', {}, undefined],
    ['2', { min: 3 }, 'A whole number from 3 to 1000.'],
    ['5', { min: 1, max: 4 }, 'A whole number from 1 to 4.'],
    ['1.5', {}, 'A whole number from 0 to 1000.'],
  ])('%s %j', (nodes, bounds, want) => {
    expect(replicasFault(nodes, bounds)).toBe(want)
  })
})

describe('poolOf', () => {
  it('leaves out what is empty', () => {
    expect(poolOf(form({ nodes: '2' }), 'demo')).toEqual({
      name: 'gpu',
      spec: { clusterName: 'demo', replicas: 2, template: { provider: 'local' } },
    })
  })
  it('follows the need of pods', () => {
    expect(poolOf(form({ scaledBy: 'pods', nodes: '0', max: '3' }), 'demo').spec).toMatchObject({
      replicas: 0,
      maxReplicas: 3,
      autoscaling: {},
    })
  })
  it('has all that is said', () => {
    const all = form({
      min: '1',
      max: '4',
      cpu: '2',
      memory: '4Gi',
      volumes: '50Gi',
      labels: 'a=b=c',
      taints: 'gpu:NoSchedule',
    })
    expect(poolOf(all, 'demo').spec).toEqual({
      clusterName: 'demo',
      replicas: 1,
      minReplicas: 1,
      maxReplicas: 4,
      template: {
        provider: 'local',
        labels: { a: 'b=c' },
        taints: [{ key: 'gpu', effect: 'NoSchedule' }],
        resources: { cpu: '2', memory: '4Gi' },
        volumeCapacity: '50Gi',
      },
    })
  })
})
