import { readable } from '../../logic/foreign'
import { Foreign } from '../../ui/foreign'
import '@xyflow/react/dist/style.css'
import './graph.css'
import {
  Background,
  Controls,
  type Edge,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from '@xyflow/react'
import { useMemo, useState } from 'react'
import { useDark } from '../../app/theme'
import { box, layout, lookOf, type Relation, type TopologyObject } from '../../logic/topology'
import { words } from './topologylook'

type ObjectNode = Node<{ object: TopologyObject; faint: boolean }, 'object'>

const marks = { good: '✓', working: '…', bad: '!', plain: '' }

interface GraphProps {
  objects: readonly TopologyObject[]
  relations: readonly Relation[]
}

/** Graph draws objects and their relations. Those of the object that has the focus are emphasized. */
export default function Graph({ objects, relations }: GraphProps) {
  const dark = useDark()
  const [chosen, setChosen] = useState<string>()
  const placed = useMemo(() => layout(objects, relations), [objects, relations])
  // Names of the cluster do not become identifiers in the document.
  const idOf = useMemo(() => new Map(objects.map((object, i) => [object.id, `o${i}`])), [objects])
  const near = useMemo(() => {
    if (!chosen) return undefined
    const touching = relations.filter((r) => r.from === chosen || r.to === chosen)
    return new Set([chosen, ...touching.flatMap((r) => [r.from, r.to])])
  }, [relations, chosen])
  const nodes = placed.map(
    ({ object, x, y }): ObjectNode => ({
      id: idOf.get(object.id) ?? '',
      type: 'object',
      position: { x, y },
      width: box.width,
      height: box.height,
      data: { object, faint: near !== undefined && !near.has(object.id) },
      ariaLabel: readable(`${object.kind} ${object.name}: ${lookOf(object).words}`),
      draggable: false,
      connectable: false,
    }),
  )
  return (
    <section
      className="kq-graph"
      aria-label="Graph of the objects; the list says the same"
      onFocus={(event) => {
        const id = event.target.closest('.react-flow__node')?.getAttribute('data-id')
        const object = placed.find((one) => idOf.get(one.object.id) === id)?.object
        if (object) setChosen(object.id)
      }}
    >
      <ReactFlow
        nodes={nodes}
        edges={edgesOf(relations, idOf, chosen)}
        nodeTypes={types}
        colorMode={dark ? 'dark' : 'light'}
        fitView
        fitViewOptions={{ maxZoom: 1, minZoom: 0.35 }}
        minZoom={0.05}
        nodesConnectable={false}
        elementsSelectable={false}
        nodesFocusable
        edgesFocusable={false}
        deleteKeyCode={null}
        ariaLabelConfig={{
          'node.a11yDescription.default': 'The relations of the object that has the focus are emphasized.',
        }}
        onlyRenderVisibleElements={objects.length > 150}
        onNodeClick={(_, node) => setChosen(node.data.object.id)}
        onPaneClick={() => setChosen(undefined)}
      >
        <Background />
        <Controls showInteractive={false} />
      </ReactFlow>
    </section>
  )
}

function edgesOf(relations: readonly Relation[], idOf: Map<string, string>, chosen?: string): Edge[] {
  return relations.map((r, i) => {
    const emphasized = r.from === chosen || r.to === chosen
    return {
      id: `r${i}`,
      source: idOf.get(r.from) ?? '',
      target: idOf.get(r.to) ?? '',
      label: emphasized ? words[r.type] + (r.stale ? ' (earlier)' : '') : undefined,
      animated: false,
      className: emphasized ? 'kq-edge-near' : chosen ? 'kq-edge-faint' : undefined,
      style: { strokeDasharray: r.stale ? '4 4' : undefined },
      markerEnd: { type: MarkerType.ArrowClosed },
    }
  })
}

function ObjectBox({ data }: NodeProps<ObjectNode>) {
  const { object, faint } = data
  const look = lookOf(object)
  return (
    <div className={`kq-object kq-object-${look.look}${faint ? ' kq-object-faint' : ''}`} title={readable(object.id)}>
      <Handle type="target" position={Position.Left} />
      <div className="kq-object-kind">
        {readable(object.kind)} · {marks[look.look]} {readable(look.words)}
      </div>
      <div className="kq-object-name">
        <Foreign text={object.name} />
      </div>
      <Handle type="source" position={Position.Right} />
    </div>
  )
}

const types = { object: ObjectBox }
