import {
  Alert,
  Button,
  Card,
  CardBody,
  CardTitle,
  Flex,
  Label,
  type LabelProps,
  Radio,
  Stack,
} from '@patternfly/react-core'
import { useState } from 'react'
import { type Change, changes, type Json, merged } from '../../logic/diff'
import { type Editable, inWords } from '../../logic/document'
import { type Column, DataTable } from '../../ui/datatable'
import type { Seen } from './write'

interface ConflictProps {
  base: Editable
  yours: Editable
  theirs: Seen
  /** Takes a document into the editor, which then comes from another state. */
  take: (document: Editable, from: Seen) => void
  overwrite: () => void
  close: () => void
}

const looks: Record<Change['by'], { status: LabelProps['status']; text: string }> = {
  yours: { status: 'info', text: 'only you' },
  theirs: { status: undefined, text: 'only they' },
  both: { status: 'success', text: 'both, alike' },
  conflict: { status: 'danger', text: 'both, differently' },
}

/** Conflict shows what the user and another one have changed, and asks what shall hold. */
export function Conflict({ base, yours, theirs, take, overwrite, close }: ConflictProps) {
  const [prefer, setPrefer] = useState<'yours' | 'theirs'>('yours')
  const all = changes(base as Json, yours as Json, theirs.document as Json)
  const conflicts = all.filter((change) => change.by === 'conflict').length
  const both = merged(base as Json, yours as Json, theirs.document as Json, prefer) as Editable
  return (
    <Card>
      <CardTitle component="h3">The cluster was changed meanwhile</CardTitle>
      <CardBody>
        <Stack hasGutter>
          <DataTable
            label="What was changed"
            columns={columns}
            rows={all}
            keyOf={(change) => change.path.join('\n')}
            empty={<p>Both say the same now.</p>}
          />
          {conflicts > 0 && (
            <Flex role="radiogroup" aria-label="Where both changed the same">
              <span>Where both changed the same, a merge keeps</span>
              {(['yours', 'theirs'] as const).map((side) => (
                <Radio
                  key={side}
                  id={`prefer-${side}`}
                  name="prefer"
                  label={side}
                  isChecked={prefer === side}
                  onChange={() => setPrefer(side)}
                />
              ))}
            </Flex>
          )}
          <Alert
            component="p"
            isInline
            isPlain
            variant="info"
            title="A merge comes into the editor; nothing is saved before you save it."
          />
          <Flex spaceItems={{ default: 'spaceItemsSm' }}>
            <Button onClick={() => take(both, theirs)}>Merge</Button>
            <Button variant="secondary" onClick={() => take(theirs.document, theirs)}>
              Take theirs
            </Button>
            <Button variant="danger" onClick={overwrite}>
              Overwrite with yours
            </Button>
            <Button variant="link" onClick={close}>
              Go on editing
            </Button>
          </Flex>
        </Stack>
      </CardBody>
    </Card>
  )
}

function value(of: Json | undefined) {
  return <pre className="kq-wrap kq-small">{inWords(of)}</pre>
}

const columns: Column<Change>[] = [
  { name: 'Field', cell: (c) => <code>{c.path.join('.')}</code>, modifier: 'breakWord', width: 20 },
  {
    name: 'Changed by',
    cell: (c) => (
      <Label isCompact status={looks[c.by].status}>
        {looks[c.by].text}
      </Label>
    ),
  },
  { name: 'Before', cell: (c) => value(c.base), modifier: 'breakWord', width: 20 },
  { name: 'Yours', cell: (c) => value(c.yours), modifier: 'breakWord', width: 20 },
  { name: 'Theirs', cell: (c) => value(c.theirs), modifier: 'breakWord', width: 20 },
]
