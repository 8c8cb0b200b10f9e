import { useQuery } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import type { Backup, Restore } from '../../api/objects'
import { backupsOf, hasEnded, restoresOf } from '../../logic/backup'
import type { Of } from './data'

/** How many lists of 500 are read at most. */
const mostPages = 10

interface Page<T> {
  items: T[]
  cursor?: string
}

/** The API selects none of these by their cluster: all of the organization are read, the newest first. */
async function all<T>(page: (cursor?: string) => Promise<Page<T>>) {
  const items: T[] = []
  let cursor: string | undefined
  for (let n = 0; n < mostPages; n++) {
    const next = await page(cursor)
    items.push(...next.items)
    cursor = next.cursor || undefined
    if (!cursor) break
  }
  return { items, more: !!cursor }
}

/** useBackups are the backups and restores of a cluster as they change. */
export function useBackups({ organization, cluster }: Of) {
  const path = { organization }
  const lists = { limit: 500, sort: '-createdAt' } as const
  const backups = useQuery({
    queryKey: ['backups', organization],
    queryFn: () =>
      all<Backup>((cursor) =>
        ok(api.GET('/api/v1/organizations/{organization}/backups', { params: { path, query: { ...lists, cursor } } })),
      ),
  })
  const restores = useQuery({
    queryKey: ['restores', organization, 'all'],
    queryFn: () =>
      all<Restore>((cursor) =>
        ok(api.GET('/api/v1/organizations/{organization}/restores', { params: { path, query: { ...lists, cursor } } })),
      ),
  })
  const base = `/api/v1/organizations/${encodeURIComponent(organization)}`
  const a = useLive(`${base}/backups`, [['backups', organization]])
  const b = useLive(`${base}/restores`, [['restores', organization]])
  return {
    backups: backups.data && backupsOf(cluster, backups.data.items),
    restores: restores.data && backups.data && restoresOf(cluster, restores.data.items, backups.data.items),
    /** Names that are taken, also by those of other clusters. */
    names: {
      backups: backups.data?.items.map((one) => one.name) ?? [],
      restores: restores.data?.items.map((one) => one.name) ?? [],
    },
    more: !!backups.data?.more || !!restores.data?.more,
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
