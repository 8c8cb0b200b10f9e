import { api, idempotencyKey, ok, type Schemas, withTag } from '../../api/client'

const all = '/api/v1/organizations/{organization}/provisioners'
const one = '/api/v1/organizations/{organization}/provisioners/{provisioner}'
const credentials = '/api/v1/organizations/{organization}/provisioners/{provisioner}/credentials'

export interface Path {
  organization: string
  provisioner: string
}

export type Order = 'name' | '-name' | 'createdAt' | '-createdAt'

/** listProvisioners are those of an organization and the shared ones, or of all organizations of the user. */
export function listProvisioners(org: string | undefined, query: { name?: string; sort?: Order; cursor?: string }) {
  const params = { query: { limit: 50, ...query } }
  if (!org) return ok(api.GET('/api/v1/provisioners', { params }))
  return ok(api.GET(all, { params: { ...params, path: { organization: org } } }))
}

export function createProvisioner(organization: string, body: Schemas['ProvisionerInput'], dryRun: boolean) {
  const params = { path: { organization }, query: { dryRun }, header: idempotencyKey() }
  return ok(api.POST(all, { params, body }))
}

export function readProvisioner(path: Path) {
  return withTag(api.GET(one, { params: { path } }))
}

export function replaceProvisioner(path: Path, body: Schemas['ProvisionerChange'], etag: string, dryRun: boolean) {
  return ok(api.PUT(one, { params: { path, query: { dryRun }, header: { 'If-Match': etag } }, body }))
}

export function deleteProvisioner(path: Path) {
  return ok(api.DELETE(one, { params: { path, header: { 'If-Match': '*' } } }))
}

/** credentialsQuery is which keys of the credentials are set. Values are never told. */
export const credentialsQuery = (path: Path) => ({
  queryKey: ['provisioners', 'credentials', path.organization, path.provisioner],
  queryFn: () => ok(api.GET(credentials, { params: { path } })),
})

export function setCredentials(path: Path, body: Record<string, string>) {
  return ok(api.PUT(credentials, { params: { path }, body }))
}

export function removeCredentials(path: Path) {
  return ok(api.DELETE(credentials, { params: { path } }))
}

/** How many clusters of a provisioner are named. */
const named = 100

/** clustersQuery are the first clusters of an organization that a provisioner made: the organization's own, or a shared one of that name. */
export const clustersQuery = (path: Path, isShared: boolean) => ({
  queryKey: ['clusters', 'of-provisioner', path.organization, path.provisioner, isShared],
  queryFn: async () => {
    const params = { path: { organization: path.organization }, query: { provisioner: path.provisioner, limit: named } }
    const list = await ok(api.GET('/api/v1/organizations/{organization}/clusters', { params }))
    const names = list.items
      .filter((c) => (c.spec?.provisionerRef?.namespace === 'kqueen-system') === isShared)
      .map((c) => c.name)
    return { names, isAll: !list.cursor }
  },
})
