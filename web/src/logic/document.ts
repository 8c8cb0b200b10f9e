import { parseDocument, stringify } from 'yaml'
import type { Cluster } from '../api/objects'
import type { Json } from './diff'

const parts = ['labels', 'annotations', 'spec'] as const

/** What of a cluster users may change. */
export type Editable = { [part in (typeof parts)[number]]?: Json }

/** editableOf is what of a cluster users may change. */
export function editableOf(cluster: Cluster): Editable {
  return Object.fromEntries(parts.map((part) => [part, (cluster[part] ?? {}) as Json]))
}

/** textOf writes a document as YAML. */
export function textOf(document: unknown): string {
  return stringify(document, { lineWidth: 0 })
}

/** documentOf reads YAML that a user has written, or says in words what is wrong with it. */
export function documentOf(text: string): { document?: Editable; fault?: string } {
  const read = parseDocument(text, { prettyErrors: true })
  const error = read.errors[0]
  if (error) return { fault: `This is no YAML: ${error.message.replace(/:?\n.*/s, '')}` }
  let document: unknown
  try {
    document = read.toJS() ?? {}
  } catch (e) {
    return { fault: `This is no YAML: ${e instanceof Error ? e.message : String(e)}` }
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    return { fault: 'This has to be a map with labels, annotations and spec.' }
  }
  const strange = Object.keys(document).find((key) => !(parts as readonly string[]).includes(key))
  if (strange) return { fault: `${strange} cannot be set here; labels, annotations and spec can.` }
  for (const [key, value] of Object.entries(document)) {
    if (value !== null && (typeof value !== 'object' || Array.isArray(value)))
      return { fault: `${key} has to be a map.` }
  }
  const kept = Object.entries(document).filter(([, value]) => value !== null)
  const empty = Object.fromEntries(parts.map((part) => [part, {}]))
  return { document: { ...empty, ...Object.fromEntries(kept) } }
}

/** inWords shows a value of a document in a table; undefined is one that is not there. */
export function inWords(value: Json | undefined): string {
  if (value === undefined) return 'not there'
  return typeof value === 'object' && value !== null ? textOf(value).trimEnd() : String(value)
}
