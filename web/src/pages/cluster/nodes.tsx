import { Stack } from '@patternfly/react-core'
import { useLive } from '../../api/live'
import { LiveMark } from '../../ui/livemark'
import type { TabProps } from './index'
import { Machines } from './machines'
import { Pools } from './pools'

/** Nodes shows the node pools of a cluster and their machines as they change. */
export function Nodes({ of, cluster }: TabProps) {
  const base = `/api/v1/organizations/${encodeURIComponent(of.organization)}`
  const query = `cluster=${encodeURIComponent(of.cluster)}`
  const pools = useLive(`${base}/nodepools?${query}`, [
    ['nodepools', of.organization],
    ['operations', of.organization],
  ])
  const machines = useLive(`${base}/machines?${query}`, [['machines', of.organization]])
  const live =
    pools === 'live' && machines === 'live'
      ? 'live'
      : pools === 'stale' || machines === 'stale'
        ? 'stale'
        : 'connecting'
  return (
    <Stack hasGutter>
      <Pools of={of} cluster={cluster} mark={<LiveMark state={live} />} />
      <Machines of={of} cluster={cluster} />
    </Stack>
  )
}
