import type { Draft, FieldErrors } from './clusterdocument'
import { nameOf, organizationOf, read } from './clusterdocument'

const label = /^[a-z]([-a-z0-9]*[a-z0-9])?$/
const version = /^v[0-9]+\.[0-9]+\.[0-9]+$/
const quantity = /^[0-9]+(\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$/
const range = /^[0-9a-f.:]+\/[0-9]{1,3}$/

/** nameProblem says what is wrong with the name of a cluster (at most 40 characters) or of a pool (50), by the API's own rule. */
export function nameProblem(name: string, most: 40 | 50): string | undefined {
  if (name === '') return 'Give a name.'
  if (name.length > most) return `A name has at most ${most} characters.`
  if (!label.test(name)) {
    return 'Lower-case letters, digits and -, beginning with a letter and ending with a letter or digit.'
  }
}

/** checkDraft says what a browser can see to be wrong. The server has the last word, and knows more. */
export function checkDraft(draft: Draft): FieldErrors {
  const errors: FieldErrors = {}
  const say = (pointer: string, text: string | undefined) => {
    if (text) errors[pointer] ??= text
  }
  const spec = (path: string[]) => read(draft, ['cluster', 'spec', ...path])
  if (organizationOf(draft) === '') {
    say('/cluster/metadata/namespace', 'Choose an organization: the namespace is org- and its name.')
  }
  say('/cluster/metadata/name', nameProblem(nameOf(draft), 40))
  const wanted = spec(['version'])
  if (wanted !== undefined && !version.test(String(wanted))) say('/cluster/spec/version', 'A version such as v1.36.3.')
  for (const key of ['podCIDR', 'serviceCIDR']) {
    const cidr = spec(['network', key])
    if (cidr !== undefined && !range.test(String(cidr)))
      say(`/cluster/spec/network/${key}`, 'A range such as 10.244.0.0/16.')
  }
  if (draft.pool) checkPool(draft, say)
  return errors
}

function checkPool(draft: Draft, say: (pointer: string, text: string | undefined) => void) {
  const pool = (path: string[]) => read(draft, ['pool', ...path])
  say('/pool/metadata/name', nameProblem(String(pool(['metadata', 'name']) ?? ''), 50))
  if (pool(['metadata', 'namespace']) !== draft.cluster.metadata.namespace)
    say('/pool/metadata/namespace', 'The pool has to be in the namespace of its cluster.')
  if (pool(['spec', 'clusterName']) !== nameOf(draft))
    say('/pool/spec/clusterName', `This has to be the name of the cluster, ${nameOf(draft) || 'which has none yet'}.`)
  const replicas = pool(['spec', 'replicas'])
  if (
    replicas !== undefined &&
    !(Number.isInteger(replicas) && (replicas as number) >= 0 && (replicas as number) <= 1000)
  )
    say('/pool/spec/replicas', 'A whole number from 0 to 1000.')
  for (const [key, example] of [
    ['cpu', '2 or 500m'],
    ['memory', '4Gi'],
  ] as const) {
    const amount = pool(['spec', 'template', 'resources', key])
    if (amount !== undefined && !quantity.test(String(amount)))
      say(`/pool/spec/template/resources/${key}`, `An amount such as ${example}.`)
  }
}

/** serverErrors places what the server says of an object at the fields of the draft. */
export function serverErrors(of: 'cluster' | 'pool', errors: { pointer: string; detail: string }[]): FieldErrors {
  const placed: FieldErrors = {}
  for (const { pointer, detail } of errors) {
    const aboutName = pointer === '/name' || (pointer === '' && detail.includes('metadata.name'))
    const at = aboutName ? `/${of}/metadata/name` : `/${of}${pointer}`
    const text = detail.replace(/^Invalid value: ("[^"]*": )?/, '').replace(/^Forbidden: /, '')
    placed[at] = at in placed ? `${placed[at]} ${text}` : text
  }
  return placed
}
