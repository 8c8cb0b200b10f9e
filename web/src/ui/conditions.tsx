import { type AnyObject, conditionsOf } from '../api/objects'
import { Age } from './age'
import { DataTable } from './datatable'
import { Foreign } from './foreign'

/** Conditions shows what the controller says of an object. */
export function Conditions({ of }: { of: AnyObject }) {
  return (
    <DataTable
      label={`Conditions of ${of.name}`}
      rows={conditionsOf(of)}
      keyOf={(c) => c.type}
      columns={[
        { name: 'Condition', cell: (c) => c.type },
        { name: 'Status', cell: (c) => c.status },
        { name: 'Reason', cell: (c) => c.reason },
        { name: 'Message', cell: (c) => <Foreign text={c.message} detail />, width: 40 },
        { name: 'Since', cell: (c) => <Age at={c.lastTransitionTime} /> },
      ]}
      empty={<p>Nothing is known of it yet.</p>}
    />
  )
}
