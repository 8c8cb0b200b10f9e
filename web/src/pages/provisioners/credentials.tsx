import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Provisioner } from '../../api/objects'
import type { Permission } from '../../logic/roles'
import { Age } from '../../ui/age'
import { DataTable } from '../../ui/datatable'
import { TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { Guarded } from '../../ui/guarded'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { credentialsQuery, type Path, removeCredentials, setCredentials } from './requests'

interface Props {
  provisioner: Provisioner
  path: Path
  permission: Permission
}

/** Credentials shows which keys are set, never their values, and lets owners set all of them anew. */
export function Credentials({ provisioner, path, permission }: Props) {
  const client = useQueryClient()
  const tell = useTell()
  const [doing, setDoing] = useState<'set' | 'remove'>()
  const wanted = provisioner.status?.driver?.credentials ?? []
  const keys = useQuery({ ...credentialsQuery(path), enabled: permission.allowed })
  const set = keys.data?.keys ?? []
  const changed = async (text: string) => {
    tell(text)
    await client.invalidateQueries({ queryKey: ['provisioners'] })
  }
  if (wanted.length === 0 && set.length === 0) {
    return (
      <Part title="Credentials">
        <p className="kq-quiet">The driver takes no credentials.</p>
      </Part>
    )
  }
  return (
    <Part
      title="Credentials"
      about="What the driver proves itself with to others. Values go in and do not come out, whatever your role."
      actions={
        <>
          <Guarded permission={permission} onClick={() => setDoing('set')}>
            Set credentials
          </Guarded>
          <Guarded
            permission={permission}
            variant="secondary"
            isDisabled={permission.allowed && set.length === 0}
            onClick={() => setDoing('remove')}
          >
            Remove
          </Guarded>
        </>
      }
    >
      <ProblemAlert error={keys.error} again={() => void keys.refetch()} />
      {keys.data?.setAt && (
        <p>
          Set <Age at={keys.data.setAt} />.
        </p>
      )}
      <DataTable
        label="Credentials"
        rows={wanted}
        keyOf={(c) => c.key}
        columns={[
          { name: 'Key', cell: (c) => <code className="kq-wrap">{c.key}</code> },
          { name: 'About', cell: (c) => <span className="kq-wrap">{c.description ?? '–'}</span> },
          { name: 'Needed', cell: (c) => (c.optional ? 'no' : 'yes') },
          { name: 'Set', cell: (c) => (permission.allowed ? (set.includes(c.key) ? 'yes' : 'no') : 'owners see it') },
        ]}
        empty={<p>The driver takes none. Set are: {set.join(', ')}.</p>}
      />
      {doing === 'set' && (
        <SetCredentials provisioner={provisioner} path={path} changed={changed} close={() => setDoing(undefined)} />
      )}
      {doing === 'remove' && (
        <FormDialog
          isDanger
          title={`Remove the credentials of ${provisioner.name}?`}
          act="Remove credentials"
          run={async () => {
            await removeCredentials(path)
            await changed('The credentials were removed')
          }}
          close={() => setDoing(undefined)}
        >
          <p>
            They are deleted and cannot be read before. While one that the driver needs is not set, neither its clusters
            nor their removal go on.
          </p>
        </FormDialog>
      )}
    </Part>
  )
}

function SetCredentials({
  provisioner,
  path,
  changed,
  close,
}: Omit<Props, 'permission'> & { changed: (text: string) => Promise<void>; close: () => void }) {
  const wanted = provisioner.status?.driver?.credentials ?? []
  const [values, setValues] = useState<Record<string, string>>({})
  const isIncomplete = wanted.some((c) => !c.optional && !values[c.key]) || Object.values(values).every((v) => !v)
  const run = async () => {
    const given = Object.entries(values).filter(([, value]) => value !== '')
    await setCredentials(path, Object.fromEntries(given))
    await changed('The credentials were set. Health says within seconds whether the driver takes them.')
  }
  return (
    <FormDialog
      isLarge
      title={`Credentials of ${provisioner.name}`}
      about="They replace all that were set before; an empty field is not set. Nobody can read them afterwards."
      act="Set credentials"
      isIncomplete={isIncomplete}
      run={run}
      close={close}
    >
      {wanted.map((c) => (
        <TextField
          key={c.key}
          label={c.key}
          type="password"
          autoComplete="new-password"
          value={values[c.key] ?? ''}
          onChange={(value) => setValues({ ...values, [c.key]: value })}
          required={!c.optional}
          help={c.description}
        />
      ))}
    </FormDialog>
  )
}
