import { ApiError, api, ok, type Problem } from './client'

/** A container of a pod in a cluster. */
export interface ContainerAddress {
  organization: string
  cluster: string
  clusterUID: string
  namespace: string
  pod: string
  container: string
}

/** How long a credential for a cluster lasts that a page gets, in seconds: the shortest that the API gives. */
const lifetime = 600
/** The most that is kept of a log, in lines. */
export const mostLines = 5000

/** credentialFor gets a credential of the user for a cluster, for what a page does inside it. */
async function credentialFor(at: ContainerAddress): Promise<string> {
  const params = { path: { organization: at.organization, cluster: at.cluster } }
  const body = { lifetimeSeconds: lifetime, uid: at.clusterUID }
  const got = await ok(api.POST('/api/v1/organizations/{organization}/clusters/{cluster}/credential', { params, body }))
  return got.token
}

/** podPath is the path of a pod's subresource, through KQueen. */
export function podPath(at: ContainerAddress, subresource: string, query: Record<string, string>): string {
  const parts = [at.organization, at.cluster, 'api', 'v1', 'namespaces', at.namespace, 'pods', at.pod, subresource]
  const params = new URLSearchParams({ container: at.container, ...query })
  return `/clusters/${parts.map(encodeURIComponent).join('/')}?${params}`
}

/** statusError is the error of an answer of a Kubernetes API server, which says with a Status what is wrong. */
async function statusError(answer: Response): Promise<ApiError> {
  const said = (await answer.json().catch(() => ({}))) as { message?: string; detail?: string }
  return new ApiError({
    status: answer.status,
    detail: said.message ?? said.detail,
    title: answer.statusText,
  } as Problem)
}

/** followLog reads the log of a container from its last lines on, until signal ends it. Parts are texts of any length. */
export async function followLog(
  at: ContainerAddress,
  previous: boolean,
  signal: AbortSignal,
  part: (text: string) => void,
) {
  const token = await credentialFor(at)
  const query = { tailLines: '1000', timestamps: 'true', ...(previous ? { previous: 'true' } : { follow: 'true' }) }
  const answer = await fetch(podPath(at, 'log', query), { headers: { Authorization: `Bearer ${token}` }, signal })
  if (!answer.ok || !answer.body) throw await statusError(answer)
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    part(value)
  }
}

/** Channels of Kubernetes' streams (v5.channel.k8s.io): the first byte of each message. */
const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const

/** A program in a container, and how to speak with it. */
export interface Shell {
  type: (text: string) => void
  resize: (columns: number, rows: number) => void
  end: () => void
}

interface ShellEvents {
  output: (data: Uint8Array) => void
  /** Why it ended; empty when the program ended by itself. */
  ended: (why: string) => void
}

/** openShell starts a program in a container, with a terminal. */
export async function openShell(at: ContainerAddress, command: string[], on: ShellEvents): Promise<Shell> {
  const token = await credentialFor(at)
  const path = podPath(at, 'exec', { stdin: 'true', stdout: 'true', tty: 'true' })
  const commands = command.map((word) => `&command=${encodeURIComponent(word)}`).join('')
  const socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}${path}${commands}`, [
    'v5.channel.k8s.io',
    `base64url.bearer.authorization.k8s.io.${base64url(token)}`,
  ])
  socket.binaryType = 'arraybuffer'
  let why = ''
  socket.onmessage = (message) => {
    const data = new Uint8Array(message.data as ArrayBuffer)
    if (data[0] === channel.stdout || data[0] === channel.stderr) on.output(data.subarray(1))
    if (data[0] === channel.error) why = reasonOf(new TextDecoder().decode(data.subarray(1)))
  }
  let opened = false
  socket.onclose = () =>
    on.ended(opened ? why : 'The cluster refuses it, or does not answer. Your role may not run commands there.')
  const send = (to: number, text: string) => {
    const data = new TextEncoder().encode(text)
    const message = new Uint8Array(data.length + 1)
    message[0] = to
    message.set(data, 1)
    if (socket.readyState === WebSocket.OPEN) socket.send(message)
  }
  await new Promise<void>((resolve) => {
    socket.onopen = () => {
      opened = true
      resolve()
    }
    socket.onerror = () => resolve()
  })
  return {
    type: (text) => send(channel.stdin, text),
    resize: (columns, rows) => send(channel.resize, JSON.stringify({ Width: columns, Height: rows })),
    end: () => socket.close(),
  }
}

/** reasonOf says why a program ended, of the Status that is sent then; empty for success. */
export function reasonOf(text: string): string {
  try {
    const status = JSON.parse(text) as { status?: string; message?: string }
    return status.status === 'Success' ? '' : (status.message ?? text)
  } catch {
    return text
  }
}

/** base64url is the alphabet of subprotocols, without padding. */
export function base64url(text: string): string {
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}
