import { keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { ApiError, api, ok, withTag } from '../../api/client'
import type { Cluster, NodePool } from '../../api/objects'

/** Which cluster a page is about. */
export interface Of {
  organization: string
  cluster: string
}

const merge = { 'Content-Type': 'application/merge-patch+json' }

/** How often a change is tried again when another caller changes the object at the same time: its status changes all the time. */
const tries = 5

export function useCluster(of: Of) {
  return useQuery({
    queryKey: ['clusters', of.organization, 'one', of.cluster],
    queryFn: () => readCluster(of),
  })
}

export function readCluster({ organization, cluster }: Of) {
  return withTag(
    api.GET('/api/v1/organizations/{organization}/clusters/{cluster}', { params: { path: { organization, cluster } } }),
  )
}

/** The node pools of the cluster, 50 at a time. */
export function usePools({ organization, cluster }: Of) {
  return useInfiniteQuery({
    queryKey: ['nodepools', organization, cluster],
    queryFn: ({ pageParam }) =>
      ok(
        api.GET('/api/v1/organizations/{organization}/nodepools', {
          params: { path: { organization }, query: { cluster, limit: 50, cursor: pageParam } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.cursor || undefined,
    placeholderData: keepPreviousData,
  })
}

/** The work that goes on at the cluster and what belongs to it. */
export function useOperations({ organization, cluster }: Of) {
  return useQuery({
    queryKey: ['operations', organization, cluster],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/operations', {
          params: { path: { organization }, query: { cluster, limit: 50 } },
        }),
      ),
  })
}

/** Retries a change of what was read just before, as another caller may have changed it meanwhile. */
async function again<T>(change: () => Promise<T>): Promise<T> {
  for (let n = 1; ; n++) {
    try {
      return await change()
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 412) || n === tries) throw error
    }
  }
}

/** Changes the spec of the cluster as it is now. The change is of one thing, so that it is right whatever others change meanwhile. */
export function changeCluster(of: Of, change: (now: Cluster) => object, dryRun: boolean) {
  return again(async () => {
    const { object, etag } = await readCluster(of)
    return ok(
      api.PATCH('/api/v1/organizations/{organization}/clusters/{cluster}', {
        params: { path: of, query: { dryRun }, header: { 'If-Match': etag } },
        body: { spec: change(object) } as never,
        headers: merge,
      }),
    )
  })
}

/** Changes how many nodes a pool shall have. */
export function scalePool(pool: NodePool, replicas: number, dryRun: boolean) {
  const path = { organization: pool.organization ?? '', nodePool: pool.name }
  return again(async () => {
    const { etag } = await withTag(
      api.GET('/api/v1/organizations/{organization}/nodepools/{nodePool}', { params: { path } }),
    )
    return ok(
      api.PATCH('/api/v1/organizations/{organization}/nodepools/{nodePool}', {
        params: { path, query: { dryRun }, header: { 'If-Match': etag } },
        body: { spec: { replicas } } as never,
        headers: merge,
      }),
    )
  })
}

/** Has everything about the cluster asked again after a change, without waiting for the watch. */
export function useAskAgain() {
  const client = useQueryClient()
  return () => {
    for (const kind of [
      'clusters',
      'nodepools',
      'machines',
      'operations',
      'addons',
      'backups',
      'backupschedules',
      'restores',
      'rehearsals',
      'upgrades',
      'rotations',
    ]) {
      void client.invalidateQueries({ queryKey: [kind] })
    }
  }
}
