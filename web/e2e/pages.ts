const organization = process.env.PORTAL_ORGANIZATION ?? 'default'
const cluster = process.env.PORTAL_CLUSTER ?? 'demo'
const inside = `/portal/organizations/${organization}/clusters/${cluster}`

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
  'cluster-backups': `${inside}?tab=backups`,
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
  profile: '/portal/profile',
}
