import { Button, Label, List, ListItem } from '@patternfly/react-core'
import { useMemo, useState } from 'react'
import { readable } from '../../logic/foreign'
import { lookOf, type Relation, type TopologyObject } from '../../logic/topology'
import { type Column, DataTable } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import { labelStatus, words } from './topologylook'

interface RelationsProps {
  objects: readonly TopologyObject[]
  relations: readonly Relation[]
}

const atOnce = 100

/** Relations is the graph as a list, for those who do not see it or look for something in it. */
export function Relations({ objects, relations }: RelationsProps) {
  const [shown, setShown] = useState(atOnce)
  const by = useMemo(() => {
    const map = new Map<string, string[]>()
    const note = (id: string, text: string) => map.set(id, [...(map.get(id) ?? []), text])
    for (const r of relations) {
      note(r.from, `${words[r.type]} ${nameOf(r.to)}${r.stale ? ' (of an earlier owner of that name)' : ''}`)
      note(r.to, `${nameOf(r.from)} ${words[r.type]} it`)
    }
    return map
  }, [relations])
  const columns: Column<TopologyObject>[] = [
    { name: 'Kind', cell: (o) => o.kind, width: 15 },
    { name: 'Name', cell: (o) => o.name, modifier: 'breakWord', width: 25 },
    {
      name: 'State',
      cell: (o) => (
        <Label isCompact status={labelStatus[lookOf(o).look]}>
          {readable(lookOf(o).words)}
        </Label>
      ),
    },
    {
      name: 'Relations',
      cell: (o) => (
        <List isPlain>
          {(by.get(o.id) ?? ['none']).map((text) => (
            <ListItem key={text}>
              <Foreign text={text} />
            </ListItem>
          ))}
        </List>
      ),
      modifier: 'breakWord',
      width: 45,
    },
  ]
  return (
    <>
      <DataTable
        label="Objects and their relations"
        columns={columns}
        rows={objects.slice(0, shown)}
        keyOf={(o) => o.id}
        empty={null}
      />
      {objects.length > shown && (
        <Button variant="link" onClick={() => setShown(shown + atOnce)}>
          Show more of {objects.length.toLocaleString('en')} objects
        </Button>
      )}
    </>
  )
}

/** An ID is Kind.group/namespace/name; within one namespace the kind and the name are enough. */
function nameOf(id: string): string {
  const parts = id.split('/')
  return `${parts[0]?.split('.')[0]} ${parts.at(-1)}`
}
