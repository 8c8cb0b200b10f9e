import { FormFieldGroup, FormFieldGroupHeader } from '@patternfly/react-core'
import { type Path, pointerOf, read, write } from '../../logic/clusterdocument'
import { enteredIn, type Field, shownIn } from '../../logic/schemaform'
import { ChoiceField, TextField } from '../../ui/field'
import { useEditing } from './draft'

/** SchemaFields are inputs for what a JSON Schema describes. Their values are below a path of the draft. */
export function SchemaFields({ fields, below }: { fields: Field[]; below: Path }) {
  return fields.map((field) => <SchemaField key={field.path.join('/')} field={field} below={below} />)
}

function SchemaField({ field, below }: { field: Field; below: Path }) {
  const { draft, setDraft, errors } = useEditing()
  const path = [...below, ...field.path]
  const value = read(draft, path)
  const preset = field.preset === undefined ? undefined : `Default: ${field.preset}.`
  const shape = {
    string: undefined,
    strings: 'One a line.',
    integer: boundsOf(field),
    number: boundsOf(field),
    boolean: undefined,
    choice: undefined,
    group: undefined,
    other: undefined,
  }[field.kind]
  const common = {
    pointer: pointerOf(path),
    label: field.title,
    required: field.required,
    error: errors[pointerOf(path)],
    help:
      [field.about, shape, field.kind === 'choice' || field.kind === 'boolean' ? undefined : preset]
        .filter(Boolean)
        .join(' ') || undefined,
    value: shownIn(field, value),
    onChange: (said: string) => setDraft(write(draft, path, enteredIn(field, said))),
  }
  if (field.kind === 'group') {
    const header = (
      <FormFieldGroupHeader
        titleText={{ text: field.title, id: `${pointerOf(path)}-group` }}
        titleDescription={field.about}
      />
    )
    return (
      <FormFieldGroup header={header}>
        <SchemaFields fields={field.fields ?? []} below={below} />
      </FormFieldGroup>
    )
  }
  if (field.kind === 'other') {
    return (
      <p>
        {field.title}: {field.about} <em>Say this in the YAML, under {path.slice(1).join('.')}.</em>
      </p>
    )
  }
  const none = { value: '', text: preset === undefined ? 'Not set' : `Default (${field.preset})` }
  if (field.kind === 'choice') {
    const choices = (field.options ?? []).map((option) => ({ value: option.text, text: option.text }))
    return <ChoiceField {...common} choices={[none, ...choices]} />
  }
  if (field.kind === 'boolean') {
    const choices = [none, { value: 'true', text: 'Yes' }, { value: 'false', text: 'No' }]
    return <ChoiceField {...common} choices={choices} />
  }
  return (
    <TextField
      {...common}
      lines={field.kind === 'strings'}
      numeric={field.kind === 'integer'}
      placeholder={field.preset}
    />
  )
}

function boundsOf({ kind, minimum, maximum }: Field): string {
  const what = kind === 'integer' ? 'A whole number' : 'A number'
  if (minimum !== undefined && maximum !== undefined) return `${what} from ${minimum} to ${maximum}.`
  if (minimum !== undefined) return `${what}, at least ${minimum}.`
  if (maximum !== undefined) return `${what}, at most ${maximum}.`
  return `${what}.`
}
