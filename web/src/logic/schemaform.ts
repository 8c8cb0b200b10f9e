import type { Path } from './clusterdocument'

/** A field of a form that is made from a JSON Schema. */
export interface Field {
  kind: 'string' | 'integer' | 'number' | 'boolean' | 'choice' | 'strings' | 'group' | 'other'
  /** Below the value that the schema describes. */
  path: Path
  title: string
  about?: string
  required: boolean
  /** What holds where nothing is said, as a text. */
  preset?: string
  options?: { text: string; value: unknown }[]
  minimum?: number
  maximum?: number
  /** Those of a group. */
  fields?: Field[]
}

/** How deep objects may be in one another. The schema is a driver's, and may be anything. */
const deepest = 5
const most = 100

type Schema = Record<string, unknown>

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined)
const amount = (value: unknown) => (typeof value === 'number' ? value : undefined)

/** formOf lists the fields of an object's JSON Schema, at most 100. What a form cannot show has the kind other: it is edited as YAML. */
export function formOf(schema: unknown, path: Path = [], depth = 0): Field[] {
  if (!isSchema(schema) || !isSchema(schema.properties)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  return Object.entries(schema.properties)
    .slice(0, most)
    .map(([key, one]) => fieldOf(key, isSchema(one) ? one : {}, [...path, key], required.includes(key), depth))
}

function fieldOf(key: string, schema: Schema, path: Path, required: boolean, depth: number): Field {
  const preset = schema.default
  const base = {
    path,
    title: text(schema.title) ?? wordsOf(key),
    about: text(schema.description),
    required,
    preset: preset === undefined ? undefined : typeof preset === 'string' ? preset : JSON.stringify(preset),
  }
  const composed = ['$ref', 'oneOf', 'anyOf', 'allOf', 'not', 'if'].some((word) => word in schema)
  if (composed) return { ...base, kind: 'other' }
  if (Array.isArray(schema.enum) && schema.enum.length > 0) {
    if (schema.enum.some((value) => typeof value === 'object' && value !== null)) return { ...base, kind: 'other' }
    return { ...base, kind: 'choice', options: schema.enum.map((value) => ({ text: String(value), value })) }
  }
  const types = (Array.isArray(schema.type) ? schema.type : [schema.type]).filter((type) => type !== 'null')
  switch (types.length === 1 ? types[0] : undefined) {
    case 'string':
      return { ...base, kind: 'string' }
    case 'integer':
    case 'number':
      return {
        ...base,
        kind: types[0] as 'integer' | 'number',
        minimum: amount(schema.minimum),
        maximum: amount(schema.maximum),
      }
    case 'boolean':
      return { ...base, kind: 'boolean' }
    case 'array':
      return { ...base, kind: isSchema(schema.items) && isPlainString(schema.items) ? 'strings' : 'other' }
    case 'object': {
      const fields = depth < deepest && !isSchema(schema.additionalProperties) ? formOf(schema, path, depth + 1) : []
      return fields.length > 0 ? { ...base, kind: 'group', fields } : { ...base, kind: 'other' }
    }
    default:
      return { ...base, kind: 'other' }
  }
}

const isPlainString = (schema: Schema) => schema.type === 'string' && !('enum' in schema)

/** wordsOf makes a title of a key: "dataStoreName" is "Data store name". */
export function wordsOf(key: string): string {
  const words = key
    .replaceAll(/[-_]+/g, ' ')
    .replaceAll(/([a-z0-9])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)
    .trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** enteredIn is what a field's text says. Empty says nothing; what is no number stays a text, so that it is shown and refused. */
export function enteredIn(field: Field, said: string): unknown {
  if (field.kind === 'strings') {
    const lines = said.split('\n')
    return lines.every((line) => line.trim() === '') ? undefined : lines
  }
  if (said === '') return undefined
  if (field.kind === 'integer' || field.kind === 'number') {
    const number = Number(said)
    return said.trim() === '' || Number.isNaN(number) ? said : number
  }
  if (field.kind === 'boolean') return said === 'true'
  if (field.kind === 'choice') return field.options?.find((option) => option.text === said)?.value
  return said
}

/** shownIn is the text of a field for a value. */
export function shownIn(field: Field, value: unknown): string {
  if (value === undefined || value === null) return ''
  if (field.kind === 'strings') return Array.isArray(value) ? value.map(String).join('\n') : String(value)
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
