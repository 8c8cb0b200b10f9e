import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { NotFound } from './notfound'
import { Shell } from './shell'
import { parseSearch, type Search, stringifySearch } from './urlstate'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

type Page = () => Promise<{ default: React.ComponentType }>

/** page is a route whose code is loaded when it is first shown. What is chosen on a page is in its URL, as texts. */
function page<const P extends string>(path: P, load: Page) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: (search: Search): Search => search,
    component: lazyRouteComponent(load),
  })
}

const routeTree = root.addChildren([
  page('/', () => import('../pages/home')),
  page('/clusters', () => import('../pages/clusters')),
  page('/create', () => import('../pages/create')),
  page('/import', () => import('../pages/adopt')),
  page('/organizations/$organization/clusters/$cluster', () => import('../pages/cluster')),
  page('/provisioners', () => import('../pages/provisioners')),
  page('/inventory', () => import('../pages/inventory')),
  page('/audit', () => import('../pages/audit')),
  page('/organizations', () => import('../pages/organizations')),
  page('/organizations/$organization', () => import('../pages/organizations/one')),
  page('/admin', () => import('../pages/admin')),
  page('/profile', () => import('../pages/profile')),
])

export const router = createRouter({
  routeTree,
  basepath: '/portal',
  defaultPreload: 'intent',
  parseSearch,
  stringifySearch,
  scrollRestoration: true,
})

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router
  }
}
