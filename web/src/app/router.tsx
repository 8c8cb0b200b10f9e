import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router'
import { clustersQuery } from '../pages/clusters/list'
import { NotFound } from './notfound'
import { pages } from './pages'
import { queryClient } from './queries'
import { Shell } from './shell'
import { parseSearch, type Search, stringifySearch } from './urlstate'

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound })

/**
 * route is that of a page. What is chosen on it is in its URL, as texts. What it asks for with that is asked for beside its code, and not
 * waited for.
 */
function route<const P extends keyof typeof pages>(path: P, ask?: (search: Search) => Promise<unknown>) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: (search: Search): Search => search,
    loader: ({ location }) => void ask?.(location.search as Search),
    component: lazyRouteComponent(pages[path]),
  })
}

const routeTree = root.addChildren([
  route('/'),
  route('/clusters', (search) => queryClient.prefetchQuery(clustersQuery(search))),
  route('/create'),
  route('/import'),
  route('/organizations/$organization/clusters/$cluster'),
  route('/provisioners'),
  route('/inventory'),
  route('/audit'),
  route('/organizations'),
  route('/organizations/$organization'),
  route('/admin'),
  route('/profile'),
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
