import { shellWord } from '../../logic/shell'
import { FromCli } from '../../ui/fromcli'
import type { Of } from './data'

/** BackupCli shows how to back up, compare and restore from the command line and by the API. */
export function BackupCli({ of, backup = 'BACKUP' }: { of: Of; backup?: string }) {
  const flags = `--org ${shellWord(of.organization)}`
  const path = `/api/v1/organizations/${encodeURIComponent(of.organization)}`
  return (
    <FromCli
      lines={[
        { about: 'List the backups', command: `kqueen backup list ${flags}` },
        {
          about: 'Back up the cluster',
          command: `kqueen backup create NAME --cluster ${shellWord(of.cluster)} ${flags} --wait`,
        },
        {
          about: 'See what a restore would change; nothing is stopped',
          command: `kqueen restore create NAME --backup ${shellWord(backup)} --compare-only ${flags} --wait`,
        },
        { about: 'and its answer', command: `kqueen restore describe NAME ${flags}` },
        {
          about: 'Restore the cluster to a backup, after asking',
          command: `kqueen restore create NAME --backup ${shellWord(backup)} ${flags} --wait`,
        },
        {
          about: 'Restore a backup as a new cluster; this one goes on',
          command: `kqueen restore create NAME --backup ${shellWord(backup)} --new-cluster NEW ${flags} --wait`,
        },
        {
          about: 'Back up the cluster each night, and keep two weeks',
          command: `kqueen backupschedule create NAME --cluster ${shellWord(of.cluster)} --schedule "30 2 * * *" --keep-daily 14 ${flags}`,
        },
        {
          about: 'Record the changes between backups, so that any moment of a week can be restored',
          command: `kqueen backupschedule create NAME --cluster ${shellWord(of.cluster)} --schedule @daily --recovery-window 7d ${flags}`,
        },
        {
          about: 'Restore the cluster to ten minutes ago, after asking',
          command: `kqueen restore create NAME --cluster ${shellWord(of.cluster)} --at 10m ${flags} --wait`,
        },
        { about: 'Delete a backup', command: `kqueen backup delete ${shellWord(backup)} ${flags}` },
      ]}
      calls={[
        { method: 'GET', path: `${path}/backups` },
        { method: 'POST', path: `${path}/backups`, body: { name: 'NAME', spec: { clusterName: of.cluster } } },
        { method: 'GET', path: `${path}/restores` },
        {
          method: 'POST',
          path: `${path}/restores`,
          body: { name: 'NAME', spec: { backupName: backup, compareOnly: true } },
        },
        {
          method: 'POST',
          path: `${path}/restores`,
          body: { name: 'NAME', spec: { backupName: backup, newClusterName: 'NEW' } },
        },
      ]}
    />
  )
}
