import {
  Card,
  CardBody,
  CardHeader,
  CardTitle,
  Skeleton,
  ToggleGroup,
  ToggleGroupItem,
  Tooltip,
} from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { readable } from '../../logic/foreign'
import { markOf, shadeOf, shades } from '../../logic/heat'
import { bytes, cores, count } from '../../logic/quantity'
import { DataAge } from '../../ui/dataage'
import { ProblemAlert } from '../../ui/problem'

type Node = Schemas['InventoryNode']
/** How many nodes the map shows. */
const most = 200

type Amount = 'cpu' | 'memory'
const amountOf = (node: Node, by: Amount) => (by === 'cpu' ? node.allocatable.milliCPU : node.allocatable.memory)

/** Capacity is a map of nodes: the darker, the more of it pods can have. */
export function Capacity({ org }: { org?: string }) {
  const [search, set] = useUrlState()
  const by: Amount = search.capacity === 'memory' ? 'memory' : 'cpu'
  const answer = useQuery({
    queryKey: ['inventory', 'capacity', org ?? ''],
    queryFn: () =>
      ok(
        api.GET('/api/v1/inventory/nodes', {
          params: { query: { organization: org ? [org] : undefined, limit: most } },
        }),
      ),
    refetchInterval: 60_000,
  })
  const nodes = answer.data?.items ?? []
  return (
    <Card isCompact>
      <CardHeader
        actions={{
          actions: (
            <ToggleGroup isCompact aria-label="What the shades mean">
              {(['cpu', 'memory'] as const).map((one) => (
                <ToggleGroupItem
                  key={one}
                  buttonId={`capacity-${one}`}
                  text={one === 'cpu' ? 'CPU' : 'Memory'}
                  isSelected={by === one}
                  onChange={() => set({ capacity: one === 'cpu' ? undefined : one })}
                />
              ))}
            </ToggleGroup>
          ),
        }}
      >
        <CardTitle component="h2">Capacity</CardTitle>
      </CardHeader>
      <CardBody>
        <ProblemAlert title="Nodes could not be read" error={answer.error} again={() => void answer.refetch()} />
        {answer.isPending && <Skeleton screenreaderText="Loading nodes" />}
        {answer.data && nodes.length === 0 && (
          <p>No node is known. A node appears here when its cluster is connected.</p>
        )}
        {nodes.length > 0 && <HeatMap nodes={nodes} by={by} />}
        {answer.data?.cursor && (
          <p className="kq-small">
            These are the first {most} nodes.{' '}
            <Link to="/inventory" search={(before) => ({ org: before.org, view: 'nodes' })}>
              All nodes
            </Link>
          </p>
        )}
        {answer.data && <DataAge asOf={answer.data.asOf} brief />}
      </CardBody>
    </Card>
  )
}

function HeatMap({ nodes, by }: { nodes: Node[]; by: Amount }) {
  const largest = Math.max(...nodes.map((node) => amountOf(node, by)))
  const sum = (of: (node: Node) => number) => nodes.reduce((all, node) => all + of(node), 0)
  const say = (amount: number) => (by === 'cpu' ? `${cores(amount)} CPU` : bytes(amount))
  return (
    <>
      <p>
        {count(nodes.length, 'node')} with {cores(sum((node) => node.allocatable.milliCPU))} CPU and{' '}
        {bytes(sum((node) => node.allocatable.memory))} of memory allocatable to pods.
      </p>
      <ul className="kq-heat" aria-label="Nodes">
        {nodes.map((node) => (
          <Cell key={node.clusterUID + node.node} node={node} shade={shadeOf(amountOf(node, by), largest)} />
        ))}
      </ul>
      <p className="kq-quiet kq-small">
        Shades:{' '}
        {Array.from({ length: shades }, (_, i) => i + 1).map((shade) => (
          <span key={shade} className={`kq-heat-key kq-heat-${shade}`} />
        ))}
        up to {say(largest)}. Signs: ! not ready or under pressure, ? not known or as seen last, – cordoned.
      </p>
    </>
  )
}

function Cell({ node, shade }: { node: Node; shade: number }) {
  const mark = markOf(node)
  const { allocatable } = node
  const text = [
    `${readable(node.node)} of ${node.organization}/${node.cluster}`,
    mark?.text ?? 'ready',
    `${cores(allocatable.milliCPU)} CPU, ${bytes(allocatable.memory)}, ${count(allocatable.pods, 'pod')}`,
  ].join('; ')
  return (
    <li>
      <Tooltip content={text}>
        <Link
          to="/inventory"
          search={(before) => ({ org: before.org ?? node.organization, view: 'nodes', cluster: node.cluster })}
          aria-label={text}
          className={`kq-heat-cell kq-heat-${shade}`}
        >
          {mark?.sign ?? ''}
        </Link>
      </Tooltip>
    </li>
  )
}
