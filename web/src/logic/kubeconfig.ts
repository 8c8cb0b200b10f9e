import { parse, stringify } from 'yaml'

/** What is sent of a kubeconfig: one context of it. */
export interface Reduced {
  /** A kubeconfig with one context. It is a secret. */
  kubeconfig: string
  context: string
  server: string
  user: string
  /** With what the user proves itself, in words. */
  proof: string
}

export interface Kubeconfig {
  /** Names of all contexts. */
  contexts: string[]
  current?: string
}

type Values = Record<string, unknown>

const most = 1 << 20

/** Fields that lead to other files, which a browser cannot read. */
const paths = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile']
/** Fields that the server refuses whatever they say. */
const refused = ['insecure-skip-tls-verify', 'proxy-url', 'as', 'as-uid', 'as-groups', 'as-user-extra']
const programs = ['exec', 'auth-provider']

const isValues = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function load(text: string): Values {
  if (text.length > most) throw new Error('It has more than 1 MiB.')
  let value: unknown
  try {
    value = parse(text)
  } catch {
    // What the parser says may quote a secret.
    throw new Error('It is not YAML.')
  }
  if (!isValues(value) || !Array.isArray(value.contexts)) throw new Error('It is not a kubeconfig: it has no contexts.')
  return value
}

function entry(list: unknown, name: unknown, key: string): Values | undefined {
  const found = Array.isArray(list) ? list.find((one) => isValues(one) && one.name === name) : undefined
  return isValues(found?.[key]) ? found[key] : undefined
}

/** contextsOf lists the contexts of a kubeconfig. It throws an Error that says why it is none. */
export function contextsOf(text: string): Kubeconfig {
  const config = load(text)
  const contexts = (config.contexts as unknown[]).flatMap((one) =>
    isValues(one) && typeof one.name === 'string' ? [one.name] : [],
  )
  if (contexts.length === 0) throw new Error('It has no context.')
  const current = config['current-context']
  return { contexts, current: contexts.includes(String(current)) ? String(current) : undefined }
}

/** reduce takes one context of a kubeconfig, and nothing else of it. It throws an Error that says why it cannot be sent. */
export function reduce(text: string, context: string): Reduced {
  const config = load(text)
  const chosen = entry(config.contexts, context, 'context')
  if (!chosen) throw new Error(`It has no context ${context}.`)
  const cluster = entry(config.clusters, chosen.cluster, 'cluster')
  const user = entry(config.users, chosen.user, 'user')
  if (!cluster || !user) throw new Error(`The context ${context} names a cluster or a user that it does not have.`)
  const program = programs.find((key) => user[key] !== undefined && user[key] !== null)
  if (program) {
    throw new Error(
      `The user ${chosen.user} has its credentials from a program (${program}), and KQueen runs no program of a kubeconfig. ` +
        'Use kqueen cluster import --service-account, which runs it on your machine and creates an account for KQueen.',
    )
  }
  for (const [what, values] of [
    ['cluster', cluster],
    ['user', user],
  ] as const) {
    const path = paths.find((key) => values[key])
    if (path) {
      throw new Error(
        `The ${what} ${chosen[what]} names a file (${path}), which the browser cannot read. ` +
          'Write one kubeconfig with the content of all files: kubectl config view --flatten --minify --raw',
      )
    }
    const closed = refused.find((key) => values[key])
    if (closed) throw new Error(`The ${what} ${chosen[what]} has ${closed}, which KQueen refuses.`)
  }
  const one = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': context,
    contexts: [{ name: context, context: { cluster: chosen.cluster, user: chosen.user } }],
    clusters: [{ name: chosen.cluster, cluster }],
    users: [{ name: chosen.user, user }],
  }
  return {
    kubeconfig: stringify(one, { lineWidth: 0 }),
    context,
    server: String(cluster.server ?? ''),
    user: String(chosen.user),
    proof: proofOf(user),
  }
}

function proofOf(user: Values): string {
  if (user.token) return 'a token'
  if (user['client-certificate-data']) return 'a client certificate with its key'
  if (user.password) return 'a name and a password'
  return 'nothing'
}
