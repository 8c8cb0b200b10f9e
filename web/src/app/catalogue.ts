import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, ok, withTag } from '../api/client'
import { condition, type Provisioner, type Release } from '../api/objects'
import { mayAdminister, organizationsFor } from '../logic/roles'
import { newestFirst } from '../logic/versions'
import { useMe } from './queries'

/** organizationsQuery are those of the installation, or as many as the API gives at once. */
export const organizationsQuery = queryOptions({
  queryKey: ['organizations', 'all'],
  queryFn: () => ok(api.GET('/api/v1/organizations', { params: { query: { limit: 500 } } })),
})

/** useOperable lists the organizations in which a user may create clusters, in order. An administrator may in all of them. */
export function useOperable(): { organizations: string[]; isPending: boolean; more: boolean } {
  const me = useMe()
  const all = mayAdminister(me).allowed
  const query = useQuery({ ...organizationsQuery, enabled: all })
  if (!all) return { organizations: organizationsFor(me, 'operator'), isPending: false, more: false }
  const names = query.data?.items.map((one) => one.name) ?? organizationsFor(me, 'operator')
  return { organizations: [...names].sort(), isPending: query.isPending, more: query.data?.cursor !== undefined }
}

/** organizationQuery is an organization with its ETag; its members may read it. */
export const organizationQuery = (organization: string) =>
  queryOptions({
    queryKey: ['organizations', organization, 'object'],
    queryFn: () => withTag(api.GET('/api/v1/organizations/{organization}', { params: { path: { organization } } })),
    enabled: organization !== '',
  })

/** useOrganization is what an organization is and may have. */
export function useOrganization(organization: string) {
  return useQuery(organizationQuery(organization)).data?.object
}

/** useProvisioners lists those that an organization may use: the shared ones, and its own. */
export function useProvisioners(organization: string) {
  const limits = useOrganization(organization)?.spec
  const query = useQuery({
    queryKey: ['provisioners', 'usable', organization],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/provisioners', {
          params: { path: { organization }, query: { limit: 200 } },
        }),
      ),
    enabled: organization !== '',
  })
  return query.data?.items.filter((one) => isUsable(one, limits))
}

function isUsable(one: Provisioner, limits?: { provisionerNames?: string[]; drivers?: string[] }): boolean {
  if (one.deletionRequestedAt) return false
  if (limits?.drivers && !limits.drivers.includes(one.spec?.driver ?? '')) return false
  return !!one.organization || !limits?.provisionerNames || limits.provisionerNames.includes(one.name)
}

/** isReady says whether clusters can be created by it, or with it. */
export const isReady = (one: Provisioner | Release) => condition(one, 'Ready')?.status === 'True'

/** releasesQuery are the releases that clusters can have now. */
export const releasesQuery = queryOptions({
  queryKey: ['releases', 'ready'],
  queryFn: () => ok(api.GET('/api/v1/releases', { params: { query: { limit: 200, ready: 'true' } } })),
})

/** addonsQuery is the catalogue of addons. */
export const addonsQuery = queryOptions({
  queryKey: ['catalogue', 'addons'],
  queryFn: async () => (await ok(api.GET('/api/v1/addons'))).items ?? [],
  staleTime: 300_000,
})

/** useReleases lists the versions that clusters can have now, the newest first. */
export function useReleases(): string[] | undefined {
  const items = useQuery(releasesQuery).data?.items.filter((one) => !one.deletionRequestedAt)
  return items && newestFirst(items.map((one) => one.name))
}
