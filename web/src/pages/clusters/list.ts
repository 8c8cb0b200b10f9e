import { queryOptions } from '@tanstack/react-query'
import { api, ok } from '../../api/client'
import type { Search } from '../../app/urlstate'
import { queryOf } from '../../logic/clusterfilters'

type Order = 'name' | '-name' | 'createdAt' | '-createdAt'
const orders = ['name', '-name', 'createdAt', '-createdAt']

/** listOf is what is asked of the API for what is chosen on the page: where, and how. */
export function listOf({ org, cursor, sort: by, ...search }: Search) {
  const sort = (by && orders.includes(by) ? by : 'name') as Order
  const path = org ? `/api/v1/organizations/${encodeURIComponent(org)}/clusters` : '/api/v1/clusters'
  return { path, sort, query: { limit: 50, cursor, sort, ...queryOf(search) } }
}

/** clustersQuery is the list of clusters as it was chosen. One that is not wanted any more is not waited for. */
export function clustersQuery(search: Search) {
  const { org } = search
  const { query } = listOf(search)
  return queryOptions({
    queryKey: ['clusters', org, query],
    queryFn: ({ signal }) =>
      org
        ? ok(
            api.GET('/api/v1/organizations/{organization}/clusters', {
              params: { path: { organization: org }, query },
              signal,
            }),
          )
        : ok(api.GET('/api/v1/clusters', { params: { query }, signal })),
  })
}
