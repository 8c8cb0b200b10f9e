import { type InfiniteData, useInfiniteQuery } from '@tanstack/react-query'
import { ApiError, api, ok } from '../../api/client'
import { type EntryKind, fromAudit, fromEvent, fromOperation, isOf, merge, type Source } from '../../logic/timeline'
import { useNow } from '../../ui/age'
import { type Of, useOperations, usePools } from './data'

const limit = 50

interface Page<T> {
  items: T[] | null
  cursor?: string
}

/** A list of the organization, the newest first, 50 at a time. */
function useHistory<T>(key: unknown[], read: (cursor?: string) => Promise<Page<T>>, enabled = true) {
  const query = useInfiniteQuery({
    queryKey: key,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: Page<T>) => page.cursor || undefined,
    enabled,
  })
  const items = (query.data as InfiniteData<Page<T>> | undefined)?.pages.flatMap((page) => page.items ?? []) ?? []
  return { query, items, more: query.hasNextPage }
}

function useEvents(organization: string, filter: { kind?: string; name?: string }) {
  return useHistory(['events', organization, filter], (cursor) =>
    ok(
      api.GET('/api/v1/organizations/{organization}/events', {
        params: { path: { organization }, query: { ...filter, limit, cursor } },
      }),
    ),
  )
}

/** useTimeline is what happened to a cluster and what belongs to it. The audit log is left out for those who may not read it. */
export function useTimeline(of: Of, mayAudit: boolean, kind?: EntryKind) {
  const { organization, cluster } = of
  const now = useNow()
  const pools = usePools(of).data?.pages.flatMap((page) => page.items.map((pool) => pool.name)) ?? []
  const ofCluster = useEvents(organization, { name: cluster })
  const ofPools = useEvents(organization, { kind: 'NodePool' })
  const ofMachines = useEvents(organization, { kind: 'Machine' })
  const operations = useOperations(of)
  const audit = useHistory(
    ['audit', organization, cluster],
    (cursor) =>
      ok(
        api.GET('/api/v1/organizations/{organization}/audit', {
          params: { path: { organization }, query: { kind: 'Cluster', object: cluster, limit, cursor } },
        }),
      ),
    mayAudit,
  )
  const events = [ofCluster, ofPools, ofMachines].map((list): Source => {
    const entries = list.items.filter((event) => isOf(event.object, cluster, pools)).map(fromEvent)
    return { entries, more: list.more, until: list.items.at(-1)?.lastSeenAt }
  })
  const work = operations.data?.items?.map((operation) => fromOperation(operation, now)) ?? []
  const sources: Record<EntryKind, Source[]> = {
    event: events,
    operation: [{ entries: work, more: false }],
    audit: [{ entries: audit.items.map(fromAudit), more: audit.more }],
  }
  const histories =
    kind === 'operation'
      ? []
      : kind === 'audit'
        ? [audit]
        : kind === 'event'
          ? [ofCluster, ofPools, ofMachines]
          : [ofCluster, ofPools, ofMachines, audit]
  const wanted = kind ? sources[kind] : Object.values(sources).flat()
  const denied = audit.query.error instanceof ApiError && audit.query.error.status === 403
  return {
    ...merge(wanted),
    isPending: operations.isPending || histories.some((h) => h.query.isLoading),
    isFetching: histories.some((h) => h.query.isFetchingNextPage),
    error: operations.error ?? histories.find((h) => h.query.error && !(h === audit && denied))?.query.error,
    older: () => {
      for (const history of histories) if (history.more) void history.query.fetchNextPage()
    },
    again: () => {
      void operations.refetch()
      for (const history of histories) void history.query.refetch()
    },
  }
}
