import { queryOptions, useQuery } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import type { Upgrade } from '../../api/objects'
import type { Of } from './data'

/** How many of the newest are read: what has more is better asked on the command line. */
const most = 100

/** upgradesQuery asks for the upgrades of a cluster, the newest first. */
export const upgradesQuery = ({ organization, cluster }: Of) =>
  queryOptions({
    queryKey: ['upgrades', organization, cluster],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/upgrades', {
          params: { path: { organization }, query: { cluster, limit: most, sort: '-createdAt' } },
        }),
      ),
  })

/** useUpgrades are the upgrades of a cluster as they change. */
export function useUpgrades({ organization, cluster }: Of) {
  const query = useQuery(upgradesQuery({ organization, cluster }))
  const base = `/api/v1/organizations/${encodeURIComponent(organization)}`
  const live = useLive(`${base}/upgrades?cluster=${encodeURIComponent(cluster)}`, [['upgrades', organization]])
  return { ...query, live }
}

/** How a cluster gets to another version. */
export interface UpgradeHow {
  rollback: boolean
  /** Whether it is backed up first. */
  backup: boolean
  /** The backup that a rollback restores. */
  restored?: string
}

/** useUpgradePlan is what an upgrade would do and what stands against it. The cluster is looked at for it, which may take seconds. */
export function useUpgradePlan(of: Of, version: string | undefined, { rollback, backup, restored }: UpgradeHow) {
  return useQuery({
    queryKey: ['upgrades', of.organization, 'plan', of.cluster, version, rollback, backup, restored],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/clusters/{cluster}/upgrade-plan', {
          params: { path: of, query: { version, rollback, backup, restoreBackupName: restored } },
        }),
      ),
    enabled: version !== undefined,
    staleTime: 60_000,
  })
}

const pathOf = (upgrade: Upgrade) => ({ organization: upgrade.organization ?? '', upgrade: upgrade.name })

/** changeUpgrade changes one field of an upgrade, which is right whatever else has changed meanwhile. */
export function changeUpgrade(
  upgrade: Upgrade,
  spec: { paused?: boolean; ignoreMaintenance?: boolean; ignore?: string[] },
) {
  return ok(
    api.PATCH('/api/v1/organizations/{organization}/upgrades/{upgrade}', {
      params: { path: pathOf(upgrade), header: { 'If-Match': '*' } },
      body: { spec } as never,
      headers: { 'Content-Type': 'application/merge-patch+json' },
    }),
  )
}

/** deleteUpgrade ends an upgrade that goes on, and removes the record of one that has ended. */
export function deleteUpgrade(upgrade: Upgrade) {
  return ok(
    api.DELETE('/api/v1/organizations/{organization}/upgrades/{upgrade}', {
      params: { path: pathOf(upgrade), header: { 'If-Match': '*' } },
    }),
  )
}
