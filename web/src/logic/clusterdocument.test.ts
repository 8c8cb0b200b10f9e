import { describe, expect, it } from 'vitest'
import { checkDraft, nameProblem, serverErrors } from './clusterchecks'
import { commandOf } from './clustercommand'
import {
  addonChoice,
  type Draft,
  inputOf,
  moved,
  named,
  newDraft,
  organizationOf,
  pointerOf,
  read,
  withAddon,
  withPool,
  write,
} from './clusterdocument'
import { fromYaml, lineOf, toYaml } from './clusteryaml'

const demo = () => write(named(newDraft('payments'), 'demo'), ['cluster', 'spec', 'version'], 'v1.36.3')

describe('write', () => {
  it.each<[string, object, (string | number)[], unknown, object]>([
    ['sets', { a: 1 }, ['b', 'c'], 2, { a: 1, b: { c: 2 } }],
    ['keeps the order', { a: 1, b: 2 }, ['a'], 3, { a: 3, b: 2 }],
    ['removes, and what is empty then', { a: { b: { c: 1 } }, d: 1 }, ['a', 'b', 'c'], undefined, { d: 1 }],
    ['keeps what others are in', { a: { b: 1, c: 2 } }, ['a', 'b'], undefined, { a: { c: 2 } }],
    ['goes into lists', { a: [{ b: 1 }] }, ['a', 0, 'b'], 2, { a: [{ b: 2 }] }],
  ])('%s', (_, value, path, to, want) => expect(write(value, path, to)).toEqual(want))

  it('leaves the former one as it was', () => {
    const before = { a: { b: 1 } }
    write(before, ['a', 'b'], 2)
    expect(before).toEqual({ a: { b: 1 } })
  })
})

describe('draft', () => {
  it('names the pool after the cluster until it has a name of its own', () => {
    const pooled = withPool(demo(), true)
    expect(read(named(pooled, 'shop'), ['pool', 'metadata', 'name'])).toBe('shop')
    const own = write(pooled, ['pool', 'metadata', 'name'], 'workers')
    expect(named(own, 'shop').pool).toMatchObject({ metadata: { name: 'workers' }, spec: { clusterName: 'shop' } })
  })

  it('is in an organization, with its pool', () => {
    const there = moved(withPool(demo(), true), 'research')
    expect(organizationOf(there)).toBe('research')
    expect(there.pool?.metadata.namespace).toBe('org-research')
  })

  it('switches addons and keeps their values', () => {
    const values = write(demo(), ['cluster', 'spec', 'addons'], [{ name: 'coredns', values: { replicas: 3 } }])
    const off = withAddon(values, 'coredns', 'off')
    expect(read(off, ['cluster', 'spec', 'addons', 0])).toEqual({
      name: 'coredns',
      values: { replicas: 3 },
      enabled: false,
    })
    expect(withAddon(off, 'coredns', 'default')).toEqual(values)
    expect(addonChoice(off, 'coredns')).toBe('off')
    expect(withAddon(withAddon(demo(), 'traefik', 'on'), 'traefik', 'default')).toEqual(demo())
  })
})

describe('YAML', () => {
  it.each<[string, Draft]>([
    ['a cluster', demo()],
    ['a cluster and a pool', withPool(demo(), true, 'manual')],
    ['fields that the form does not know', write(demo(), ['cluster', 'spec', 'parameters'], { x: [{ y: null }] })],
  ])('comes back: %s', (_, draft) => expect(fromYaml(toYaml(draft))).toEqual({ draft, problems: [] }))

  const good = toYaml(demo())
  it.each<[string, string, number, RegExp]>([
    ['nothing', '', 1, /has to be a Cluster/],
    ['a text', 'demo', 1, /object/],
    ['no YAML', `${good}  x: [1\n`, 9, /./],
    ['another kind', 'kind: Pod', 1, /Cluster or NodePool/],
    ['another version', 'apiVersion: v1\nkind: Cluster\nmetadata: {}', 1, /kqueen.io/],
    ['status', `${good}status: {}`, 8, /status is not taken/],
    ['a finalizer', good.replace('  name:', '  finalizers: []\n  name:'), 4, /finalizers/],
    ['two clusters', `${good}---\n${good}`, 9, /second Cluster/],
    ['a spec that is a list', 'apiVersion: kqueen.io/v1alpha1\nkind: Cluster\nmetadata: {}\nspec: []', 4, /spec/],
  ])('says where: %s', (_, text, line, says) => {
    const { draft, problems } = fromYaml(text)
    expect(draft).toBeUndefined()
    expect(problems[0]?.line).toBe(line)
    expect(problems[0]?.text).toMatch(says)
  })

  it('does not unfold without end', () => {
    const bomb = [
      'a: &a [x, x]',
      ...'bcdefgh'.split('').map((c, i) => `${c}: &${c} [${`*${'abcdefg'[i]},`.repeat(9)}]`),
    ]
    expect(fromYaml(bomb.join('\n')).problems).not.toEqual([])
  })

  it.each([
    ['/cluster/metadata/name', 4],
    ['/cluster/spec/version', 7],
    ['/cluster/spec/network/podCIDR', 7],
    ['/pool/spec/replicas', 16],
    ['/pool', 9],
  ])('finds the line of %s', (pointer, line) => expect(lineOf(toYaml(withPool(demo(), true)), pointer)).toBe(line))
})

describe('checks', () => {
  it.each([
    ['demo', true],
    ['d', true],
    ['a'.repeat(40), true],
    ['a'.repeat(41), false],
    ['Demo', false],
    ['1demo', false],
    ['demo-', false],
    ['de.mo', false],
    ['', false],
  ])('name %s', (name, good) => expect(nameProblem(name, 40) === undefined).toBe(good))

  it.each<[string, Draft, string[]]>([
    ['all is well', withPool(demo(), true), []],
    ['no name', newDraft('payments'), ['/cluster/metadata/name']],
    ['version', write(demo(), ['cluster', 'spec', 'version'], '1.36'), ['/cluster/spec/version']],
    ['range', write(demo(), ['cluster', 'spec', 'network', 'podCIDR'], '10.0.0.0'), ['/cluster/spec/network/podCIDR']],
    ['namespace', write(demo(), ['cluster', 'metadata', 'namespace'], 'default'), ['/cluster/metadata/namespace']],
    ['replicas', write(withPool(demo(), true), ['pool', 'spec', 'replicas'], 'two'), ['/pool/spec/replicas']],
    [
      'memory',
      write(withPool(demo(), true), ['pool', 'spec', 'template', 'resources'], { cpu: '500m', memory: '4GB' }),
      ['/pool/spec/template/resources/memory'],
    ],
    [
      'a pool of another cluster',
      write(withPool(demo(), true), ['pool', 'spec', 'clusterName'], 'shop'),
      ['/pool/spec/clusterName'],
    ],
  ])('%s', (_, draft, pointers) => expect(Object.keys(checkDraft(draft))).toEqual(pointers))

  it('places what the server says', () => {
    expect(
      serverErrors('cluster', [
        { pointer: '/name', detail: 'Invalid value: "X": wrong' },
        { pointer: '', detail: 'Invalid value: metadata.name must be good' },
        { pointer: '/spec/network', detail: 'Invalid value: they overlap' },
      ]),
    ).toEqual({
      '/cluster/metadata/name': 'wrong metadata.name must be good',
      '/cluster/spec/network': 'they overlap',
    })
  })
})

describe('commandOf', () => {
  const begin = 'kqueen cluster create demo --org payments --version v1.36.3'
  it.each<[string, Draft, string]>([
    ['a cluster', demo(), begin],
    ['nodes', withPool(demo(), true, 'local'), `${begin} --nodes 2`],
    ['addons', withAddon(demo(), 'traefik', 'off'), `${begin} --addon traefik=off`],
    [
      'a shared provisioner',
      write(demo(), ['cluster', 'spec', 'provisionerRef'], { name: 'hosted', namespace: 'kqueen-system' }),
      `${begin} --provisioner hosted`,
    ],
    [
      'a text that a shell would read',
      write(demo(), ['cluster', 'spec', 'network', 'dnsDomain'], "a';b"),
      `${begin} --dns-domain 'a'\\'';b'`,
    ],
    [
      'names',
      write(demo(), ['cluster', 'spec', 'network', 'extraSANs'], ['a.b', 'c.d']),
      `${begin} --extra-san a.b,c.d`,
    ],
  ])('%s', (_, draft, command) => expect(commandOf(draft)).toBe(command))

  it.each<[string, Draft]>([
    ['labels', write(demo(), ['cluster', 'metadata', 'labels'], { a: 'b' })],
    ['parameters', write(demo(), ['cluster', 'spec', 'parameters'], { a: 'b' })],
    ['a pool of its own', withPool(demo(), true, 'manual')],
  ])('a file for %s', (_, draft) => {
    const command = commandOf(draft)
    expect(command).toContain("kqueen apply --org payments -f - <<'EOF'\n")
    expect(command).toContain(toYaml(draft))
  })
})

it('is what the API takes', () => {
  expect(inputOf(demo().cluster)).toEqual({ name: 'demo', spec: { version: 'v1.36.3' } })
  expect(pointerOf(['cluster', 'a/b~c', 0])).toBe('/cluster/a~1b~0c/0')
})
