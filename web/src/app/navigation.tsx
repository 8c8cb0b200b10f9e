import { Nav, NavGroup, NavItem, NavList, PageSidebar, PageSidebarBody } from '@patternfly/react-core'
import { Link, useRouterState } from '@tanstack/react-router'
import { mayAdminister } from '../logic/roles'
import { useMe } from './queries'
import type { Search } from './urlstate'

/** The pages that the navigation and the palette lead to. */
export const places = [
  { to: '/', name: 'Overview' },
  { to: '/clusters', name: 'Clusters' },
  { to: '/provisioners', name: 'Provisioners' },
  { to: '/inventory', name: 'Inventory' },
  { to: '/audit', name: 'Audit log' },
  { to: '/organizations', name: 'Organizations' },
] as const

export function SideBar() {
  const me = useMe()
  const path = useRouterState({ select: (s) => s.location.pathname })
  const org = useRouterState({ select: (s) => (s.location.search as Search).org })
  const item = (to: (typeof places)[number]['to'] | '/admin' | '/profile', name: string) => {
    const here = to === '/' ? path === '/' : path === to || path.startsWith(`${to}/`)
    const inCluster = /^\/organizations\/[^/]+\/clusters\//.test(path)
    const active =
      to === '/clusters'
        ? here || inCluster || path === '/create' || path === '/import'
        : here && !(to === '/organizations' && inCluster)
    return (
      <NavItem key={to} itemId={to} isActive={active}>
        <Link to={to} search={{ org }}>
          {name}
        </Link>
      </NavItem>
    )
  }
  return (
    <PageSidebar>
      <PageSidebarBody>
        <Nav aria-label="Pages">
          <NavList>{places.map((place) => item(place.to, place.name))}</NavList>
          {mayAdminister(me).allowed && <NavGroup title="Installation">{item('/admin', 'Administration')}</NavGroup>}
        </Nav>
      </PageSidebarBody>
    </PageSidebar>
  )
}
