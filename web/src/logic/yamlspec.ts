import { parse, stringify } from 'yaml'

/** What of an object a user may change. */
export interface Editable {
  labels?: Record<string, string>
  annotations?: Record<string, string>
  spec?: unknown
}

/** toYaml writes what of an object may be changed. What is empty is left out. */
export function toYaml(o: Editable): string {
  const doc: Editable = {}
  if (o.labels && Object.keys(o.labels).length > 0) doc.labels = o.labels
  if (o.annotations && Object.keys(o.annotations).length > 0) doc.annotations = o.annotations
  doc.spec = o.spec ?? {}
  return stringify(doc, { lineWidth: 0 })
}

export type Parsed<T> = { value: T; error?: undefined } | { value?: undefined; error: string }

/** fromYaml reads a mapping, such as a spec or parameters; it says what is wrong, with the line, when there is none. */
export function fromYaml<T extends object>(text: string, keys?: readonly string[]): Parsed<T> {
  let value: unknown
  try {
    value = parse(text) ?? {}
  } catch (e) {
    return { error: `This is no YAML: ${e instanceof Error ? (e.message.split('\n')[0] ?? '') : String(e)}` }
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { error: 'Write keys with values, such as "key: value".' }
  const other = Object.keys(value).find((key) => keys && !keys.includes(key))
  if (other) return { error: `There is no key ${other} here; want ${keys?.join(', ')}.` }
  return { value: value as T }
}
