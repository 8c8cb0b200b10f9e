import { ApiError, api, idempotencyKey, ok, type Schemas } from '../../api/client'
import type { Cluster } from '../../api/objects'

export interface Adopted {
  organization: string
  name: string
  /** What starts the agent, where the cluster is adopted by one. It has a secret in it. */
  agent?: Schemas['AgentToken']
}

export interface Place {
  organization: string
  name: string
  provisioner: { name: string; namespace: string }
}

/** ensure creates the cluster where there is none of that name, and says whether it did. It throws where KQueen created that one. */
async function ensure({ organization, name, provisioner }: Place): Promise<boolean> {
  let have: Cluster | undefined
  try {
    const path = { organization, cluster: name }
    have = await ok(api.GET('/api/v1/organizations/{organization}/clusters/{cluster}', { params: { path } }))
  } catch (e) {
    if (!(e instanceof ApiError && e.status === 404)) throw e
  }
  if (have) {
    if (have.spec?.version)
      throw new Error(`The cluster ${name} was created by KQueen, not imported. Choose another name.`)
    return false
  }
  await ok(
    api.POST('/api/v1/organizations/{organization}/clusters', {
      params: { path: { organization }, header: idempotencyKey() },
      // The generated types want fields that have defaults.
      body: { name, spec: { provisionerRef: provisioner } as never },
    }),
  )
  return true
}

/** within runs what needs the cluster, and removes the cluster again where it was created for nothing. */
async function within<T>(place: Place, run: () => Promise<T>): Promise<T> {
  const created = await ensure(place)
  try {
    return await run()
  } catch (e) {
    if (created) await letGo(place).catch(() => leftOver(place, e))
    throw e
  }
}

function leftOver({ name }: Place, cause: unknown): never {
  const why = cause instanceof Error ? cause.message : String(cause)
  throw new Error(`${why} The cluster ${name} was created and could not be removed again: delete it.`)
}

/** letGo makes KQueen forget a cluster that it has adopted. */
export async function letGo({ organization, name }: { organization: string; name: string }): Promise<void> {
  const params = { path: { organization, cluster: name }, header: { 'If-Match': '*' } }
  await ok(api.DELETE('/api/v1/organizations/{organization}/clusters/{cluster}', { params }))
}

/** byKubeconfig adopts a cluster by one context of a kubeconfig, which the cluster is asked with first, unless forced. */
export async function byKubeconfig(place: Place, kubeconfig: string, force: boolean): Promise<Adopted> {
  const { organization, name } = place
  await within(place, () =>
    ok(
      api.PUT('/api/v1/organizations/{organization}/clusters/{cluster}/credentials', {
        params: { path: { organization, cluster: name }, query: force ? { force } : {} },
        body: { kubeconfig },
      }),
    ),
  )
  return { organization, name }
}

/** byAgent adopts a cluster by an agent in it, which enrolls with the token that is returned. */
export async function byAgent(place: Place, members: boolean, image: string): Promise<Adopted> {
  const { organization, name } = place
  const agent = await within(place, () =>
    ok(
      api.POST('/api/v1/organizations/{organization}/clusters/{cluster}/agent', {
        params: { path: { organization, cluster: name } },
        body: { members, ...(image ? { image } : {}) },
      }),
    ),
  )
  return { organization, name, agent }
}
