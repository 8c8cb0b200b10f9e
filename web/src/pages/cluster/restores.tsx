import { Button, Label, type LabelProps, Title } from '@patternfly/react-core'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import type { Restore } from '../../api/objects'
import { changesInWords, hasEnded, type Step, stepsOf } from '../../logic/backup'
import type { Permission } from '../../logic/roles'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import { FormDialog } from '../../ui/formdialog'
import { HealthLabel } from '../../ui/health'
import { RowActions } from '../../ui/rowactions'
import { useTell } from '../../ui/toasts'
import { type Of, useAskAgain } from './data'

const looks: Record<Step['state'], LabelProps['status']> = {
  done: 'success',
  working: 'info',
  failed: 'danger',
  pending: undefined,
}
export const stateWords: Record<Step['state'], string> = {
  done: 'done',
  working: 'at work',
  failed: 'failed',
  pending: 'to come',
}

const page = 20

interface RestoresProps {
  of: Of
  permission: Permission
  rows: Restore[] | undefined
  show: (restore: Restore) => void
}

/** Restores is what was restored or compared, and how far it is. */
export function Restores({ of, permission, rows, show }: RestoresProps) {
  const [most, setMost] = useState(page)
  const [doomed, setDoomed] = useState<Restore>()
  return (
    <section aria-labelledby="restores">
      <Title headingLevel="h2" id="restores">
        Restores and comparisons
      </Title>
      <DataTable
        label="Restores"
        columns={columnsOf(permission, show, setDoomed)}
        rows={rows?.slice(0, most)}
        keyOf={(restore) => restore.uid}
        empty={<p className="kq-quiet">Nothing was restored or compared yet.</p>}
      />
      {(rows?.length ?? 0) > most && (
        <Button variant="link" onClick={() => setMost(most + page)}>
          Show more restores
        </Button>
      )}
      {doomed && <DeleteRestore of={of} restore={doomed} close={() => setDoomed(undefined)} />}
    </section>
  )
}

function columnsOf(
  permission: Permission,
  show: (restore: Restore) => void,
  remove: (restore: Restore) => void,
): Column<Restore>[] {
  return [
    {
      name: 'Name',
      cell: (restore) => (
        <div>
          <Button variant="link" isInline onClick={() => show(restore)} title="Show its steps and what it changes">
            <Foreign text={restore.name} />
          </Button>
          <div className="kq-small kq-quiet">{whatOf(restore)}</div>
        </div>
      ),
      width: 20,
    },
    { name: 'Backup', cell: (restore) => restore.spec?.backupName, modifier: 'breakWord' },
    { name: 'Health', cell: (restore) => <HealthLabel of={restore} /> },
    { name: 'Steps', cell: (restore) => <Steps restore={restore} />, width: 25 },
    { name: 'Changes', cell: (restore) => changesInWords(restore.status?.changes) },
    {
      name: 'Ended',
      cell: (restore) => <Age at={restore.status?.completionTime} none="not yet" />,
      modifier: 'nowrap',
    },
    {
      name: 'Actions',
      cell: (restore) => (
        <RowActions
          of={restore.name}
          actions={[
            { name: 'Show details', run: () => show(restore) },
            {
              name: 'Delete',
              permission:
                permission.allowed && restore.deletionRequestedAt
                  ? { allowed: false, why: 'It is being deleted already.' }
                  : permission,
              run: () => remove(restore),
              isDanger: true,
            },
          ]}
        />
      ),
    },
  ]
}

/** whatOf is what a restore is, in words. */
function whatOf({ spec }: Restore): string {
  const what = spec?.compareOnly ? 'comparison' : 'restore'
  return spec?.newClusterName ? `${what} as new cluster ${spec.newClusterName}` : what
}

/** Steps are short in a list: the cause is that of the step at which it is. */
function Steps({ restore }: { restore: Restore }) {
  const steps = stepsOf(restore)
  const at = steps.find((step) => step.state === 'working' || step.state === 'failed')
  return (
    <div>
      <div className="kq-row">
        {steps.map((step) => (
          <Label key={step.type} isCompact status={looks[step.state]} variant="outline">
            {step.name}
            <span className="pf-v6-screen-reader">: {stateWords[step.state]}</span>
          </Label>
        ))}
      </div>
      {at?.message && (
        <div className="kq-small kq-quiet">
          <Foreign text={at.message} />
        </div>
      )}
    </div>
  )
}

function DeleteRestore({ of, restore, close }: { of: Of; restore: Restore; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const changing = !restore.spec?.compareOnly && !hasEnded(restore)
  const run = async () => {
    const path = { organization: of.organization, restore: restore.name }
    await ok(
      api.DELETE('/api/v1/organizations/{organization}/restores/{restore}', {
        params: { path, header: { 'If-Match': '*' } },
      }),
    )
    tell(changing ? `Restore ${restore.name} is being taken back` : `${restore.name} is being deleted`)
    askAgain()
  }
  return (
    <FormDialog
      isDanger
      title={changing ? `Take back restore ${restore.name}?` : `Delete ${restore.name}?`}
      act={changing ? 'Take the restore back' : 'Delete'}
      typed={changing ? of.cluster : undefined}
      run={run}
      close={close}
    >
      <p>
        {changing
          ? restore.spec?.newClusterName
            ? 'It has not ended. The new cluster is removed again if its state was not written in full yet.'
            : 'It has not ended. If its state was not written in full yet, the cluster gets the state before; then the control plane starts.'
          : 'Only this record goes. The cluster stays as it is, and so do its backups.'}
      </p>
    </FormDialog>
  )
}
