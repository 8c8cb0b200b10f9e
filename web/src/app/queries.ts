import { QueryClient, queryOptions, useQuery } from '@tanstack/react-query'
import { ApiError, api, ok } from '../api/client'

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A refusal stays one; what was lost on the way is tried again.
      retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status >= 400 && error.status < 500),
      refetchOnWindowFocus: true,
    },
  },
})

export const meQuery = queryOptions({
  queryKey: ['me'],
  queryFn: () => ok(api.GET('/api/v1/me')),
  staleTime: 60_000,
})

/** useMe is who is signed in. The shell shows no page before it is known. */
export function useMe() {
  const { data } = useQuery(meQuery)
  if (!data) throw new Error('a page is shown before it is known who is signed in')
  return data
}
