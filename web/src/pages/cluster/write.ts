import { ApiError, api, withTag } from '../../api/client'
import { equal } from '../../logic/diff'
import { type Editable, editableOf } from '../../logic/document'
import { type Of, readCluster } from './data'

/** What was read of a cluster, and of which state it is. */
export interface Seen {
  document: Editable
  etag: string
}

const tries = 5

/**
 * write replaces what users may change of a cluster, if that is still as it was seen. When it is not, nothing is written and it is returned as it is
 * now, in `theirs`. A status that has changed is no hindrance.
 */
export async function write(
  of: Of,
  document: Editable,
  seen: Seen,
  dryRun: boolean,
): Promise<{ theirs: Seen; saved?: undefined } | { theirs?: undefined; saved: Seen }> {
  let etag = seen.etag
  for (let n = 1; ; n++) {
    try {
      return { saved: await put(of, document, etag, dryRun) }
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 412)) throw error
      const now = await readCluster(of)
      const theirs = { document: editableOf(now.object), etag: now.etag }
      if (!equal(theirs.document, seen.document)) return { theirs }
      if (n === tries) throw error
      etag = now.etag
    }
  }
}

async function put(of: Of, document: Editable, etag: string, dryRun: boolean): Promise<Seen> {
  const saved = await withTag(
    api.PUT('/api/v1/organizations/{organization}/clusters/{cluster}', {
      params: { path: of, query: { dryRun }, header: { 'If-Match': etag } },
      body: document as never,
    }),
  )
  return { document: editableOf(saved.object), etag: saved.etag }
}
