import { useQuery } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import { condition, type Provisioner, type Release } from '../../api/objects'
import { useMe } from '../../app/queries'
import { mayAdminister, organizationsFor } from '../../logic/roles'
import { newestFirst } from '../../logic/versions'

/** useOperable lists the organizations in which a user may create clusters, in order. An administrator may in all of them. */
export function useOperable(): { organizations: string[]; isPending: boolean; more: boolean } {
  const me = useMe()
  const all = mayAdminister(me).allowed
  const query = useQuery({
    queryKey: ['organizations', 'operable'],
    queryFn: () => ok(api.GET('/api/v1/organizations', { params: { query: { limit: 500 } } })),
    enabled: all,
  })
  if (!all) return { organizations: organizationsFor(me, 'operator'), isPending: false, more: false }
  const names = query.data?.items.map((one) => one.name) ?? organizationsFor(me, 'operator')
  return { organizations: [...names].sort(), isPending: query.isPending, more: query.data?.cursor !== undefined }
}

/** useOrganization is what an organization may have; its members may read it. */
export function useOrganization(organization: string) {
  return useQuery({
    queryKey: ['organizations', organization],
    queryFn: () => ok(api.GET('/api/v1/organizations/{organization}', { params: { path: { organization } } })),
    enabled: organization !== '',
  })
}

/** useProvisioners lists those that an organization may use: the shared ones, and its own. */
export function useProvisioners(organization: string) {
  const limits = useOrganization(organization).data?.spec
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
  const usable = query.data?.items.filter((one) => isUsable(one, limits))
  return { ...query, data: usable }
}

function isUsable(one: Provisioner, limits?: { provisionerNames?: string[]; drivers?: string[] }): boolean {
  if (one.deletionRequestedAt) return false
  if (limits?.drivers && !limits.drivers.includes(one.spec?.driver ?? '')) return false
  return !!one.organization || !limits?.provisionerNames || limits.provisionerNames.includes(one.name)
}

/** isReady says whether clusters can be created by it, or with it. */
export const isReady = (one: Provisioner | Release) => condition(one, 'Ready')?.status === 'True'

/** useReleases lists the versions that clusters can have now, the newest first. */
export function useReleases() {
  return useQuery({
    queryKey: ['releases', 'ready'],
    queryFn: async () => {
      const list = await ok(api.GET('/api/v1/releases', { params: { query: { limit: 200, ready: 'true' } } }))
      return newestFirst(list.items.filter((one) => !one.deletionRequestedAt).map((one) => one.name))
    },
  })
}

/** useAddons is the catalogue. */
export function useAddons() {
  return useQuery({
    queryKey: ['addons'],
    queryFn: async () => (await ok(api.GET('/api/v1/addons'))).items ?? [],
    staleTime: 300_000,
  })
}
