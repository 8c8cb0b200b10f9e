import { useQuery } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import type { Rehearsal } from '../../api/objects'
import type { Of } from './data'

/** How many of the newest are read. */
const most = 20

/** useRehearsals are the rehearsals with a cluster as they change, the newest first. */
export function useRehearsals({ organization, cluster }: Of) {
  const query = useQuery({
    queryKey: ['rehearsals', organization, cluster],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/rehearsals', {
          params: { path: { organization }, query: { cluster, limit: most, sort: '-createdAt' } },
        }),
      ),
  })
  const base = `/api/v1/organizations/${encodeURIComponent(organization)}`
  const live = useLive(`${base}/rehearsals?cluster=${encodeURIComponent(cluster)}`, [['rehearsals', organization]])
  return { ...query, live }
}

/** deleteRehearsal ends a rehearsal that goes on, and removes the record of one that has ended. */
export function deleteRehearsal(rehearsal: Rehearsal) {
  return ok(
    api.DELETE('/api/v1/organizations/{organization}/rehearsals/{rehearsal}', {
      params: {
        path: { organization: rehearsal.organization ?? '', rehearsal: rehearsal.name },
        header: { 'If-Match': '*' },
      },
    }),
  )
}
