import { List, ListItem } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { count } from '../../logic/quantity'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { deleteOrganization, quotaQuery } from './requests'

interface Props {
  name: string
  close: () => void
  /** It is being deleted. */
  done?: () => void
}

/** DeleteOrganization asks before an organization is deleted, and says what goes with it and what holds it up. */
export function DeleteOrganization({ name, close, done }: Props) {
  const client = useQueryClient()
  const tell = useTell()
  const quota = useQuery(quotaQuery(name))
  const clusters = quota.data?.clusters.used
  const run = async () => {
    await deleteOrganization(name)
    tell(`Organization ${name} is being deleted`)
    done?.()
    await client.invalidateQueries({ queryKey: ['organizations'] })
  }
  return (
    <FormDialog
      isDanger
      title={`Delete the organization ${name}?`}
      act="Delete organization"
      typed={name}
      run={run}
      close={close}
    >
      <p>This cannot be undone. With it go:</p>
      <List>
        <ListItem>
          its namespace in the admin plane, with provisioners, their credentials and all other objects
        </ListItem>
        <ListItem>its service accounts and their tokens</ListItem>
        <ListItem>the roles of its members in it; the users stay</ListItem>
      </List>
      {clusters === 0 && <p>It has no clusters, so it goes at once.</p>}
      {clusters !== undefined && clusters > 0 && (
        <p>
          <strong>It has {count(clusters, 'cluster')}.</strong> They are not deleted with it: the organization stays in
          deletion, and takes no new clusters, until you have deleted the last of them.
        </p>
      )}
    </FormDialog>
  )
}
