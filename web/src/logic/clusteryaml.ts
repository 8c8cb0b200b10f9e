import { LineCounter, parseAllDocuments, stringify } from 'yaml'
import { apiVersion, type Draft, type Manifest, type Path } from './clusterdocument'

export interface LineProblem {
  /** From 1. */
  line: number
  text: string
}

/** toYaml writes a draft as a file for `kqueen apply -f`. */
export function toYaml(draft: Draft): string {
  return [draft.cluster, draft.pool]
    .filter((one) => one !== undefined)
    .map((one) => stringify(one, { lineWidth: 0 }))
    .join('---\n')
}

const metadataFields = ['name', 'namespace', 'labels', 'annotations']
const manifestFields = ['apiVersion', 'kind', 'metadata', 'spec']

/** fromYaml reads a draft. There is none where there are problems. */
export function fromYaml(text: string): { draft?: Draft; problems: LineProblem[] } {
  const lines = new LineCounter()
  const parsed = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
  const documents = Array.isArray(parsed) ? parsed.filter((d) => d.contents !== null) : []
  const problems: LineProblem[] = []
  const found: Partial<Record<string, Manifest>> = {}
  for (const document of documents) {
    for (const error of document.errors) problems.push({ line: lines.linePos(error.pos[0]).line, text: error.message })
    if (document.errors.length > 0) continue
    const line = (path: Path = []) => {
      const node = document.getIn(path, true) as { range?: [number, number, number] } | undefined
      return lines.linePos((node?.range ?? document.contents?.range ?? [0])[0]).line
    }
    let value: unknown
    try {
      value = document.toJS()
    } catch (e) {
      problems.push({ line: line(), text: e instanceof Error ? e.message : String(e) })
      continue
    }
    const wrong = shapeOf(value)
    if (wrong.length > 0) {
      problems.push(...wrong.map(({ path, text: says }) => ({ line: line(path), text: says })))
      continue
    }
    const one = value as Manifest
    if (found[one.kind]) problems.push({ line: line(), text: `There is a second ${one.kind}; one is created here.` })
    found[one.kind] = one
  }
  if (!found.Cluster && problems.length === 0) problems.push({ line: 1, text: 'There has to be a Cluster.' })
  if (problems.length > 0 || !found.Cluster) return { problems }
  return { draft: { cluster: found.Cluster, ...(found.NodePool ? { pool: found.NodePool } : {}) }, problems }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function shapeOf(value: unknown): { path: Path; text: string }[] {
  if (!isObject(value))
    return [{ path: [], text: 'This has to be an object with apiVersion, kind, metadata and spec.' }]
  if (value.kind !== 'Cluster' && value.kind !== 'NodePool')
    return [{ path: ['kind'], text: 'kind has to be Cluster or NodePool.' }]
  const wrong: { path: Path; text: string }[] = []
  if (value.apiVersion !== apiVersion) wrong.push({ path: ['apiVersion'], text: `apiVersion has to be ${apiVersion}.` })
  if (!isObject(value.metadata)) return [...wrong, { path: ['metadata'], text: 'metadata has to be an object.' }]
  if (value.spec !== undefined && !isObject(value.spec))
    wrong.push({ path: ['spec'], text: 'spec has to be an object.' })
  for (const key of Object.keys(value)) {
    if (!manifestFields.includes(key)) wrong.push({ path: [key], text: `${key} is not taken here; leave it out.` })
  }
  for (const key of Object.keys(value.metadata)) {
    if (!metadataFields.includes(key))
      wrong.push({ path: ['metadata', key], text: `metadata.${key} is not taken here; leave it out.` })
  }
  return wrong
}

/** lineOf is the line, from 1, at which a file has the field of a JSON pointer, or the nearest above it. */
export function lineOf(text: string, pointer: string): number {
  const lines = new LineCounter()
  const parsed = parseAllDocuments(text, { lineCounter: lines })
  const [of, ...path] = pointer.split('/').slice(1).map(unescaped)
  const kind = of === 'pool' ? 'NodePool' : 'Cluster'
  const document = Array.isArray(parsed) ? parsed.find((d) => d.get('kind') === kind) : undefined
  if (!document) return 1
  for (let depth = path.length; depth >= 0; depth--) {
    const node = document.getIn(path.slice(0, depth), true) as { range?: [number, number, number] } | undefined
    if (node?.range) return lines.linePos(node.range[0]).line
  }
  return 1
}

const unescaped = (key: string) => key.replaceAll('~1', '/').replaceAll('~0', '~')
