import { Label } from '@patternfly/react-core'
import { api, ok } from '../../api/client'
import { readable } from '../../logic/foreign'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { Digest } from '../../ui/digest'
import { Foreign } from '../../ui/foreign'
import type { Of } from './data'
import { InventoryList } from './inventorylist'
import type { Container, RowActions } from './workloads'

/** Containers lists the containers of pods with their images. */
export function Containers({ of, actions }: { of: Of; actions?: RowActions }) {
  const more: Column<Container>[] = actions ? [{ name: 'Actions', cell: actions }] : []
  return (
    <InventoryList
      of={of}
      list="containers"
      read={(query) => ok(api.GET('/api/v1/inventory/containers', { params: { query } }))}
      columns={[...columns, ...more]}
      keyOf={(c) => [c.namespace, c.pod, c.type, c.container, c.since].join('/')}
      none="No pod runs"
      lead="A pod needs a node that is ready: see the tab Nodes."
    />
  )
}

const phases: Record<string, 'success' | 'info' | 'warning' | 'danger'> = {
  Running: 'success',
  Succeeded: 'success',
  Pending: 'info',
  Failed: 'danger',
  Unknown: 'warning',
}

const columns: Column<Container>[] = [
  {
    name: 'Container',
    cell: (c) => (
      <>
        <Foreign text={c.container} /> {c.type !== 'App' && <Label isCompact>{readable(c.type)}</Label>}
      </>
    ),
  },
  {
    name: 'Pod',
    cell: (c) => (
      <>
        <Foreign text={c.pod} />
        {c.workloadName && (
          <div className="kq-quiet kq-small">
            <Foreign text={`of ${c.workloadKind} ${c.workloadName}`} />
          </div>
        )}
      </>
    ),
    width: 20,
  },
  { name: 'Namespace', cell: (c) => c.namespace, width: 15 },
  {
    name: 'Image',
    cell: (c) => (
      <>
        <Foreign text={c.image.reference} />
        {c.image.digest && (
          <div className="kq-quiet kq-small">
            <Digest digest={c.image.digest} />
          </div>
        )}
      </>
    ),
    width: 25,
  },
  {
    name: 'State',
    cell: (c) => (
      <>
        <Label isCompact status={Object.hasOwn(phases, c.phase ?? '') ? phases[c.phase ?? ''] : undefined}>
          {readable(c.phase) || 'not known'}
        </Label>
        <div className="kq-quiet kq-small">
          <Foreign text={c.reason} />
        </div>
      </>
    ),
  },
  { name: 'Node', cell: (c) => c.node ?? 'none', width: 15 },
  { name: 'Since', cell: (c) => <Age at={c.since} />, modifier: 'nowrap' },
]
