import { Skeleton } from '@patternfly/react-core'
import { useQueryClient } from '@tanstack/react-query'
import type { Organization } from '../../api/objects'
import { useMe } from '../../app/queries'
import { mayAdminister } from '../../logic/roles'
import { Conditions } from '../../ui/conditions'
import { Part } from '../../ui/part'
import { SpecEditor } from '../../ui/speceditor'
import { replaceOrganization } from './requests'

/** Settings is the whole organization as YAML. */
export function Settings({ name, tagged }: { name: string; tagged?: { object: Organization; etag: string } }) {
  const me = useMe()
  const client = useQueryClient()
  if (!tagged) return <Skeleton height="16rem" screenreaderText="Loading the organization" />
  return (
    <>
      <Part
        title="Settings"
        about="All that can be said of the organization. Owners change the members in their tab; administrators change all of it here."
      >
        <SpecEditor
          label={`Organization ${name} as YAML`}
          object={tagged.object}
          etag={tagged.etag}
          permission={mayAdminister(me)}
          save={async (doc, etag, dryRun) => {
            await replaceOrganization(name, doc, etag, dryRun)
            if (!dryRun) await client.invalidateQueries({ queryKey: ['organizations'] })
          }}
        />
      </Part>
      <br />
      <Part
        title="Conditions"
        about={`Namespace in the admin plane: ${tagged.object.status?.namespace ?? 'none yet'}.`}
      >
        <Conditions of={tagged.object} />
      </Part>
    </>
  )
}
