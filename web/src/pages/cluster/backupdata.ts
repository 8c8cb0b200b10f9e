import { useQuery } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import { hasEnded } from '../../logic/backup'
import type { Of } from './data'

/** How many of the newest are read: what has more is better asked on the command line. */
const most = 500

/** useBackups are the backups and restores of a cluster as they change, the newest first. */
export function useBackups({ organization, cluster }: Of) {
  const params = { path: { organization }, query: { cluster, limit: most, sort: '-createdAt' } } as const
  const backups = useQuery({
    queryKey: ['backups', organization, cluster],
    queryFn: () => ok(api.GET('/api/v1/organizations/{organization}/backups', { params })),
  })
  const restores = useQuery({
    queryKey: ['restores', organization, 'of', cluster],
    queryFn: () => ok(api.GET('/api/v1/organizations/{organization}/restores', { params })),
  })
  const base = `/api/v1/organizations/${encodeURIComponent(organization)}`
  const a = useLive(`${base}/backups?cluster=${encodeURIComponent(cluster)}`, [['backups', organization]])
  const b = useLive(`${base}/restores?cluster=${encodeURIComponent(cluster)}`, [['restores', organization]])
  return {
    backups: backups.data?.items,
    restores: restores.data?.items,
    more: !!backups.data?.cursor || !!restores.data?.cursor,
    error: backups.error ?? restores.error,
    again: () => {
      void backups.refetch()
      void restores.refetch()
    },
    live: a === 'live' && b === 'live' ? ('live' as const) : a === 'stale' || b === 'stale' ? 'stale' : 'connecting',
  } as const
}

/** useRestore is one restore, until it has ended. */
export function useRestore(organization: string, name: string) {
  return useQuery({
    queryKey: ['restores', organization, 'one', name],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/restores/{restore}', {
          params: { path: { organization, restore: name } },
        }),
      ),
    refetchInterval: ({ state }) => (state.status === 'error' || (state.data && hasEnded(state.data)) ? false : 3000),
  })
}
