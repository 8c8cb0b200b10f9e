import { api, idempotencyKey, ok, type Schemas, withTag } from '../../api/client'
import type { Editable } from '../../logic/yamlspec'

export type Spec = Schemas['OrganizationSpec']

/** patchSpec changes what of the spec of an organization is named, whatever others have changed meanwhile. */
export async function patchSpec(organization: string, spec: Record<string, unknown>) {
  const params = { path: { organization } }
  const { etag } = await withTag(api.GET('/api/v1/organizations/{organization}', { params }))
  return ok(
    api.PATCH('/api/v1/organizations/{organization}', {
      params: { ...params, header: { 'If-Match': etag, 'Content-Type': 'application/merge-patch+json' } },
      headers: { 'Content-Type': 'application/merge-patch+json' },
      body: { spec } as never,
    }),
  )
}

/** replaceOrganization writes all that may be changed of it, unless it has been changed since the ETag. */
export function replaceOrganization(organization: string, doc: Editable, etag: string, dryRun: boolean) {
  return ok(
    api.PUT('/api/v1/organizations/{organization}', {
      params: { path: { organization }, query: { dryRun }, header: { 'If-Match': etag } },
      body: doc as Schemas['OrganizationChange'],
    }),
  )
}

export function createOrganization(input: Schemas['OrganizationInput']) {
  return ok(api.POST('/api/v1/organizations', { params: { header: idempotencyKey() }, body: input }))
}

export function deleteOrganization(organization: string) {
  return ok(
    api.DELETE('/api/v1/organizations/{organization}', {
      params: { path: { organization }, header: { 'If-Match': '*' } },
    }),
  )
}

export const quotaQuery = (organization: string) => ({
  queryKey: ['organizations', organization, 'quota'],
  queryFn: () => ok(api.GET('/api/v1/organizations/{organization}/quota', { params: { path: { organization } } })),
})
