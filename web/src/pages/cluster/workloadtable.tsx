import { Button, Label } from '@patternfly/react-core'
import { api, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { isName } from '../../logic/foreign'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import type { Of } from './data'
import { InventoryList } from './inventorylist'

type Workload = Schemas['InventoryWorkload']

/** WorkloadTable lists Deployments, DaemonSets and the like. */
export function WorkloadTable({ of }: { of: Of }) {
  const [, set] = useUrlState()
  return (
    <InventoryList
      of={of}
      list="workloads"
      read={(query) => ok(api.GET('/api/v1/inventory/workloads', { params: { query } }))}
      columns={columnsOf((ns) => set({ ns }))}
      keyOf={(w) => [w.namespace, w.kind, w.name, w.since].join('/')}
      none="Nothing runs"
      lead="Connect to it and deploy something: the tab Connect says how."
    />
  )
}

function columnsOf(choose: (namespace: string) => void): Column<Workload>[] {
  return [
    { name: 'Name', cell: (w) => w.name, modifier: 'breakWord', width: 35 },
    { name: 'Kind', cell: (w) => w.kind },
    {
      name: 'Namespace',
      cell: (w) =>
        isName(w.namespace) ? (
          <Button variant="link" isInline onClick={() => choose(w.namespace)}>
            <Foreign text={w.namespace} />
          </Button>
        ) : (
          w.namespace
        ),
      modifier: 'breakWord',
    },
    {
      name: 'Ready',
      cell: (w) => (
        <Label isCompact status={w.ready >= w.desired ? 'success' : 'warning'}>
          {w.ready} of {w.desired}
        </Label>
      ),
    },
    { name: 'Since', cell: (w) => <Age at={w.since} />, modifier: 'nowrap' },
  ]
}
