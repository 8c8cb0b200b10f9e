import { expect, test } from 'vitest'
import { whereRuns, whoRuns } from './inventorylinks'

const plain = (search: object) => JSON.parse(JSON.stringify(search))

test.each([
  [
    { repository: 'r', tag: '1', digest: 'd' },
    { at: 't', org: 'o', text: 'x' },
    { view: 'containers', digest: 'd', at: 't', org: 'o' },
  ],
  [{ repository: 'r', tag: '1' }, {}, { view: 'containers', repository: 'r', tag: '1' }],
  [
    { repository: 'r', change: 'Vanished' },
    { from: 'a', to: 'b' },
    { view: 'containers', repository: 'r', at: 'a' },
  ],
  [
    { repository: 'r', change: 'Appeared' },
    { from: 'a', to: 'b' },
    { view: 'containers', repository: 'r', at: 'b' },
  ],
  [{ repository: 'r', change: 'Appeared' }, { from: 'a' }, { view: 'containers', repository: 'r' }],
])('whoRuns %o', (image, search, want) => {
  expect(plain(whoRuns(image, search))).toEqual(want)
})

test('whereRuns', () => {
  expect(plain(whereRuns({ component: 'etcd', version: 'v3.7.3' }, { cluster: 'a' }))).toEqual({
    view: 'binaries',
    places: 'true',
    component: 'etcd',
    version: '=v3.7.3',
    cluster: 'a',
  })
  expect(plain(whereRuns({ component: 'etcd' }, {}))).toEqual({ view: 'binaries', places: 'true', component: 'etcd' })
})
