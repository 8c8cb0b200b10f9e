/** Pages by their paths below /portal, where $ begins what differs. The code of each is loaded when it is first shown. */
export const pages = {
  '/': () => import('../pages/home'),
  '/clusters': () => import('../pages/clusters'),
  '/create': () => import('../pages/create'),
  '/import': () => import('../pages/adopt'),
  '/organizations/$organization/clusters/$cluster': () => import('../pages/cluster'),
  '/provisioners': () => import('../pages/provisioners'),
  '/inventory': () => import('../pages/inventory'),
  '/audit': () => import('../pages/audit'),
  '/organizations': () => import('../pages/organizations'),
  '/organizations/$organization': () => import('../pages/organizations/one'),
  '/admin': () => import('../pages/admin'),
  '/profile': () => import('../pages/profile'),
} as const

/** pageAt is which page an address shows; none for an address of no page. */
export function pageAt(path: string): keyof typeof pages | undefined {
  const parts = path
    .replace(/^\/portal/, '')
    .replace(/(?<=.)\/$/, '')
    .split('/')
  return (Object.keys(pages) as (keyof typeof pages)[]).find((page) => {
    const own = page.split('/')
    return own.length === parts.length && own.every((part, i) => part.startsWith('$') || part === parts[i])
  })
}
