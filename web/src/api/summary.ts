import { api, ok, type Schemas } from './client'

export type ClusterSummary = Schemas['ClusterSummary']
export type Counts = Schemas['Counts']

/** clusterSummary counts the clusters of an organization, or of all of a user's. No cluster is asked. */
export function clusterSummary(organization?: string): Promise<ClusterSummary> {
  return ok(api.GET('/api/v1/summaries/clusters', { params: { query: { organization } } }))
}
