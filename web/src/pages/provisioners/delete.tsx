import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { Provisioner } from '../../api/objects'
import { count } from '../../logic/quantity'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { clustersQuery, deleteProvisioner } from './requests'

interface Props {
  provisioner: Provisioner
  close: () => void
  /** It is being deleted. */
  done?: () => void
}

/** DeleteProvisioner asks before a provisioner of an organization is deleted, and says which clusters hold it up. */
export function DeleteProvisioner({ provisioner, close, done }: Props) {
  const client = useQueryClient()
  const tell = useTell()
  const path = { organization: provisioner.organization ?? '', provisioner: provisioner.name }
  const clusters = useQuery(clustersQuery(path, false))
  const names = clusters.data?.names ?? []
  const run = async () => {
    await deleteProvisioner(path)
    tell(`The provisioner ${provisioner.name} is being deleted`)
    done?.()
    await client.invalidateQueries({ queryKey: ['provisioners'] })
  }
  return (
    <FormDialog
      isDanger
      title={`Delete the provisioner ${provisioner.name}?`}
      act="Delete provisioner"
      typed={provisioner.name}
      run={run}
      close={close}
    >
      <p>Its parameters and credentials are deleted, and no cluster can be created with it any more.</p>
      {names.length > 0 && (
        <p className="kq-wrap">
          <strong>{count(names.length, 'cluster')} depend on it</strong>: {names.slice(0, 10).join(', ')}
          {names.length > 10 && ', …'}. They go on as before, and the provisioner stays in deletion until you have
          deleted the last of them.
        </p>
      )}
      {clusters.data && names.length === 0 && clusters.data.isAll && (
        <p>No cluster depends on it, so it goes at once.</p>
      )}
      {clusters.data && !clusters.data.isAll && <p>There are more: see the list of clusters, by this provisioner.</p>}
      {clusters.isError && <p>It could not be found out which clusters depend on it. It stays until they are gone.</p>}
    </FormDialog>
  )
}
