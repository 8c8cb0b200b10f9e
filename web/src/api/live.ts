import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'

export type LiveState = 'connecting' | 'live' | 'stale'

/** How long changes are gathered before lists are asked for again, in milliseconds. */
const gather = 300
/** A server that says nothing for so long is taken to be gone, in milliseconds. It says that it is alive every 15 s. */
const silence = 45_000

/**
 * Follows a watch of the API, from now on, and has the queries that begin with `keys` asked again when something changes. A browser goes on
 * from the last event by itself after a break (Last-Event-ID); after longer ones everything is asked again.
 */
export function useLive(path: string | undefined, keys: readonly unknown[][]): LiveState {
  const client = useQueryClient()
  const [state, setState] = useState<LiveState>('connecting')
  const fingerprint = JSON.stringify(keys)
  useEffect(() => {
    if (!path) return
    const wanted = JSON.parse(fingerprint) as unknown[][]
    return follow(path, setState, () => {
      for (const queryKey of wanted) void client.invalidateQueries({ queryKey })
    })
  }, [path, fingerprint, client])
  return state
}

/** follow opens the stream and keeps it open; it returns how to end it. */
function follow(path: string, tell: (s: LiveState) => void, changed: () => void): () => void {
  let source: EventSource | undefined
  let pending: ReturnType<typeof setTimeout> | undefined
  let again: ReturnType<typeof setTimeout> | undefined
  let ended = false
  const change = () => {
    pending ??= setTimeout(() => {
      pending = undefined
      changed()
    }, gather)
  }
  const open = (wait: number) => {
    source?.close()
    source = new EventSource(`${path}${path.includes('?') ? '&' : '?'}watch=true&fromNow=true`)
    source.onopen = () => {
      tell('live')
      change() // what happened between the lists and now
    }
    for (const name of ['added', 'modified', 'deleted']) source.addEventListener(name, change)
    source.addEventListener('problem', () => retry(wait))
    source.onerror = () => {
      tell('stale')
      if (source?.readyState === EventSource.CLOSED) retry(wait)
    }
  }
  const retry = (wait: number) => {
    source?.close()
    tell('stale')
    if (!ended) again = setTimeout(() => open(Math.min(wait * 2, silence)), wait)
  }
  open(1000)
  return () => {
    ended = true
    source?.close()
    clearTimeout(pending)
    clearTimeout(again)
  }
}
