import createClient, { type Middleware } from 'openapi-fetch'
import type { components, paths } from './types'

export type Schemas = components['schemas']
export type Problem = Schemas['Problem']
export type Me = Schemas['Me']

/** An answer of the API that is an error (RFC 9457), or that there was none. */
export class ApiError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.detail || problem.title || `the server answers ${problem.status}`)
  }

  get status() {
    return this.problem.status
  }

  /** What is wrong with each field, by its JSON pointer. */
  get fields(): Record<string, string> {
    return Object.fromEntries((this.problem.errors ?? []).map((e) => [e.pointer, e.detail]))
  }
}

/** Leads a user whose session has ended to the sign-in page, and back from there. */
export function signInAgain() {
  const next = location.pathname + location.search
  location.assign(`/signin?next=${encodeURIComponent(next)}`)
}

const session: Middleware = {
  onResponse({ response }) {
    if (response.status === 401 && response.headers.get('content-type')?.includes('problem')) {
      void response
        .clone()
        .json()
        .then((p: Problem) => {
          if (p.code === 'unauthenticated') signInAgain()
        })
    }
  },
  onError() {
    return new ApiError({
      type: '',
      title: 'no answer',
      status: 0,
      detail: 'KQueen does not answer. What you see may be old.',
      code: 'unavailable',
      retryable: true,
    } as Problem)
  },
}

export const api = createClient<paths>({ baseUrl: '' })
api.use(session)

type Answer<T> = { data?: T; error?: unknown; response: Response }

/** Returns what was answered, or throws an ApiError. Texts are the events of a watch, which are not asked for by it. */
export async function ok<T>(call: Promise<Answer<T>>): Promise<Exclude<T, string>> {
  const { data, error, response } = await call
  if (error !== undefined || !response.ok) {
    const problem = (typeof error === 'object' && error !== null ? error : {}) as Problem
    throw new ApiError({ ...problem, status: problem.status ?? response.status })
  }
  return data as Exclude<T, string>
}

/** Returns what was answered with its ETag, for a change that must not overwrite another one. */
export async function withTag<T>(call: Promise<Answer<T>>): Promise<{ object: Exclude<T, string>; etag: string }> {
  const answer = await call
  const object = await ok(Promise.resolve(answer))
  return { object, etag: answer.response.headers.get('etag') ?? '' }
}

/** Names a POST, so that one that is sent again after a lost answer does not act twice. */
export function idempotencyKey() {
  return { 'Idempotency-Key': crypto.randomUUID() }
}
