import { expect, test } from 'vitest'
import { pageAt } from './pages'

test.each([
  ['/portal/', '/'],
  ['/portal/clusters', '/clusters'],
  ['/portal/clusters/', '/clusters'],
  ['/portal/organizations', '/organizations'],
  ['/portal/organizations/blue', '/organizations/$organization'],
  ['/portal/organizations/blue/clusters/web', '/organizations/$organization/clusters/$cluster'],
  ['/portal/organizations/blue/members', undefined],
  ['/portal/nowhere', undefined],
])('%s shows %s', (path, page) => {
  expect(pageAt(path)).toBe(page)
})
