import { mkdirSync } from 'node:fs'
import { expect, type Page } from '@playwright/test'
import { settled } from './session'

export const organization = process.env.PORTAL_ORGANIZATION ?? 'default'
export const cluster = process.env.PORTAL_CLUSTER ?? 'demo'
export const inside = `/portal/organizations/${organization}/clusters/${cluster}`

/** Every page of the portal, by the name of its picture. */
export const pages: Record<string, string> = {
  overview: '/portal/',
  clusters: '/portal/clusters',
  create: '/portal/create',
  import: '/portal/import',
  cluster: inside,
  'cluster-nodes': `${inside}?tab=nodes`,
  'cluster-workloads': `${inside}?tab=workloads`,
  'cluster-topology': `${inside}?tab=topology`,
  'cluster-addons': `${inside}?tab=addons`,
  'cluster-upgrades': `${inside}?tab=upgrades`,
  'cluster-backups': `${inside}?tab=backups`,
  'cluster-credentials': `${inside}?tab=credentials`,
  'cluster-activity': `${inside}?tab=activity`,
  'cluster-connect': `${inside}?tab=connect`,
  'cluster-yaml': `${inside}?tab=yaml`,
  provisioners: '/portal/provisioners',
  images: '/portal/inventory',
  binaries: '/portal/inventory?view=binaries',
  containers: '/portal/inventory?view=containers',
  findings: '/portal/inventory?view=findings',
  audit: '/portal/audit',
  organizations: '/portal/organizations',
  organization: `/portal/organizations/${organization}`,
  'organization-quota': `/portal/organizations/${organization}?tab=quota`,
  'organization-accounts': `/portal/organizations/${organization}?tab=accounts`,
  administration: '/portal/admin',
  'backup-stores': '/portal/admin?tab=stores',
  profile: '/portal/profile',
}

export const desk = { width: 1440, height: 900 }
export const phone = { width: 390, height: 844 }

/** visit opens a page and waits until it shows what it has asked for. */
export async function visit(page: Page, path: string) {
  await page.goto(path)
  await expect(page.getByRole('heading', { level: 1 }).first()).toBeVisible()
  const loading = page.locator('.pf-v6-c-skeleton, .pf-v6-c-spinner')
  await expect(loading).toHaveCount(0)
  await settled(page)
  // A part whose code comes when it is first shown, as that of a graph does, begins to load only now.
  await expect(loading).toHaveCount(0)
}

/** picture leaves a picture in the folder SCREENSHOTS, if there is one. */
export async function picture(page: Page, name: string) {
  const folder = process.env.SCREENSHOTS
  if (!folder) return
  mkdirSync(folder, { recursive: true })
  await page.screenshot({ path: `${folder}/${name}.png` })
}
