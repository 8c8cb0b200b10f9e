import { ExpandableSection } from '@patternfly/react-core'
import { parametersOf } from '../../logic/drivers'
import { DataTable } from '../../ui/datatable'
import { Copied } from '../../ui/fromcli'

/** Schema shows what parameters a driver takes. */
export function Schema({ schema }: { schema?: Record<string, unknown> }) {
  return (
    <>
      <DataTable
        label="Parameters"
        rows={parametersOf(schema)}
        keyOf={(p) => p.name}
        columns={[
          { name: 'Parameter', cell: (p) => <code className="kq-wrap">{p.name}</code> },
          { name: 'Type', cell: (p) => p.type },
          { name: 'Default', cell: (p) => (p.required ? 'required' : p.initial || '–') },
          {
            name: 'About',
            width: 50,
            cell: (p) => <span className="kq-wrap">{[p.about, p.choices && `One of: ${p.choices}.`].join(' ')}</span>,
          },
        ]}
        empty={<p className="kq-quiet">This driver takes no parameters.</p>}
      />
      {schema && (
        <ExpandableSection toggleText="JSON Schema">
          <div className="kq-scroll">
            <Copied text={JSON.stringify(schema, null, 2)} />
          </div>
        </ExpandableSection>
      )}
    </>
  )
}
