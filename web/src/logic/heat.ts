/** How many shades the map of nodes has. */
export const shades = 5

/** shadeOf is how large a node is beside the largest, from 1 to `shades`; 0 where nothing is known. */
export function shadeOf(amount: number, largest: number): number {
  if (amount <= 0 || largest <= 0) return 0
  return Math.min(shades, Math.max(1, Math.ceil((amount / largest) * shades)))
}

interface Node {
  ready?: string
  unschedulable?: boolean
  pressure?: string[] | null
  live: boolean
}

/** markOf is the sign in the cell of a node that is not as it should be, and what it means; nothing for one that is. */
export function markOf(node: Node): { sign: string; text: string } | undefined {
  if (!node.live) return { sign: '?', text: 'as seen last' }
  if (node.ready === 'False') return { sign: '!', text: 'not ready' }
  if (node.ready !== 'True') return { sign: '?', text: 'not known to be ready' }
  if (node.pressure?.length) return { sign: '!', text: node.pressure.join(', ') }
  if (node.unschedulable) return { sign: '–', text: 'cordoned' }
  return undefined
}
