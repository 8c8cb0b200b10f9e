import type { Cluster } from '../api/objects'
import { Mark } from './mark'

export const simulatedLabel = 'kqueen.io/simulated'

/** Simulated says of a cluster of a demonstration that nothing runs in it. */
export function Simulated({ of }: { of: Cluster }) {
  if (of.labels?.[simulatedLabel] !== 'true') return null
  return (
    <Mark variant="outline" color="purple">
      Simulated
    </Mark>
  )
}
