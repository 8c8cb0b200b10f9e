import { useQuery } from '@tanstack/react-query'
import { api, ok, type Schemas } from '../../api/client'
import { useLive } from '../../api/live'
import type { Of } from './data'

export type ControlPlane = Schemas['ControlPlane']

/** How many of the newest are read. */
const most = 50

/** useRotations are those of a cluster as they change, the newest first. */
export function useRotations({ organization, cluster }: Of) {
  const query = useQuery({
    queryKey: ['rotations', organization, cluster],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/rotations', {
          params: { path: { organization }, query: { cluster, limit: most, sort: '-createdAt' } },
        }),
      ),
  })
  const path = `/api/v1/organizations/${encodeURIComponent(organization)}/rotations`
  const live = useLive(`${path}?cluster=${encodeURIComponent(cluster)}`, [['rotations', organization]])
  return { rotations: query.data?.items, error: query.error, again: () => void query.refetch(), live }
}

/** useControlPlane is that of a cluster, which knows when its authorities end. */
export function useControlPlane({ organization, cluster }: Of) {
  return useQuery({
    queryKey: ['controlplanes', organization, cluster],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/controlplanes/{controlPlane}', {
          params: { path: { organization, controlPlane: cluster } },
        }),
      ),
  })
}
