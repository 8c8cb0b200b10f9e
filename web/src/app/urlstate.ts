import { useNavigate, useRouterState } from '@tanstack/react-router'
import { useCallback } from 'react'

/** What is chosen on a page, as texts. */
export type Search = Record<string, string | undefined>

/** parseSearch reads the query of a URL. A text stays one: a name may look like a number. */
export function parseSearch(text: string): Search {
  return Object.fromEntries(new URLSearchParams(text))
}

/** stringifySearch writes it; what is empty is left out. */
export function stringifySearch(search: Record<string, unknown>): string {
  const kept = Object.entries(search).filter(([, value]) => value !== undefined && value !== null && value !== '')
  const text = new URLSearchParams(kept.map(([key, value]) => [key, String(value)])).toString()
  return text && `?${text}`
}

/**
 * useUrlState is what is chosen on the page, kept in its URL so that it can be bookmarked and sent. Setting a key to undefined removes it;
 * setting anything but a cursor goes back to the first page.
 */
export function useUrlState(): [Search, (change: Search) => void] {
  const search = useRouterState({ select: (s) => s.location.search }) as Search
  const navigate = useNavigate()
  const set = useCallback(
    (change: Search) => {
      const first = 'cursor' in change ? {} : { cursor: undefined }
      void navigate({
        to: '.',
        search: ((before: Search) => ({ ...before, ...first, ...change })) as never,
        replace: !('cursor' in change) && !('tab' in change),
      })
    },
    [navigate],
  )
  return [search, set]
}
