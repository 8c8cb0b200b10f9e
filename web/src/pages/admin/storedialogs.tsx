import { useQuery } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import { type BackupStore, emptyStore, faultsOf, type StoreForm, specOf } from '../../logic/backupstore'
import { CheckField, ChoiceField, TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'

interface Of {
  store: BackupStore
  changed: () => Promise<unknown>
  close: () => void
}

const credentials = '/api/v1/backupstores/{backupStore}/credentials'

/** CreateStore asks where backups are kept and for whom; credentials of a bucket are asked for next. */
export function CreateStore({ changed, close, done }: Omit<Of, 'store'> & { done: (store: BackupStore) => void }) {
  const tell = useTell()
  const [form, setForm] = useState(emptyStore)
  const text = JSON.stringify(form)
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [text])
  const faults = faultsOf(form)
  const input = (field: keyof StoreForm) => ({
    value: String(form[field]),
    onChange: (to: string) => setForm({ ...form, [field]: to }),
    error: form[field] === '' ? undefined : faults[field], // what is empty is not filled in yet
  })
  const run = async (dryRun: boolean) => {
    const store = await ok(
      api.POST('/api/v1/backupstores', {
        params: { query: { dryRun }, header: dryRun ? {} : key },
        body: { name: form.name.trim(), spec: specOf(form) },
      }),
    )
    if (!dryRun) {
      tell(`Backup store ${form.name} was created`)
      await changed()
      done(store)
    }
    return `Backup store ${form.name} would be created. Whether its place answers is seen afterwards.`
  }
  return (
    <FormDialog
      isLarge
      title="Create backup store"
      about="Where it is cannot be changed later: backups would be left behind."
      act="Create backup store"
      check={{ of: text }}
      isIncomplete={Object.keys(faults).length > 0}
      run={run}
      done={() => undefined}
      close={close}
    >
      <TextField label="Name" {...input('name')} maxLength={63} required />
      <ChoiceField
        label="Kind"
        value={form.kind}
        onChange={(kind) => setForm({ ...form, kind: kind as StoreForm['kind'] })}
        choices={[
          { value: 's3', text: 'Bucket of an S3 server' },
          { value: 'directory', text: 'Folder of KQueen’s host' },
        ]}
      />
      {form.kind === 's3' ? (
        <Bucket input={input} form={form} setForm={setForm} />
      ) : (
        <TextField
          label="Folder"
          {...input('directory')}
          placeholder="/mnt/nas/kqueen"
          help="Best on a disk or a mount of its own. It is made when it is not there."
          maxLength={1024}
          required
        />
      )}
      <TextField
        label="For these organizations"
        {...input('organizations')}
        help="Names with commas between them. Nothing for all."
      />
      <TextField label="Most backups of an organization" {...input('maxBackups')} maxLength={5} numeric required />
      <TextField
        label="Further recipients"
        {...input('recipients')}
        help="Public keys of age whose owners can decrypt the backups without KQueen, one in a line."
        lines
      />
    </FormDialog>
  )
}

interface BucketProps {
  input: (field: keyof StoreForm) => { value: string; onChange: (to: string) => void; error?: string }
  form: StoreForm
  setForm: (form: StoreForm) => void
}

function Bucket({ input, form, setForm }: BucketProps) {
  return (
    <>
      <TextField
        label="Endpoint"
        {...input('endpoint')}
        placeholder="https://s3.example.com"
        help="Addresses of KQueen’s own host and of clouds’ metadata are closed, unless its owner opens them."
        maxLength={500}
        required
      />
      <TextField label="Bucket" {...input('bucket')} help="It has to be there." maxLength={63} required />
      <TextField
        label="Prefix"
        {...input('prefix')}
        help="Before the names of all files, for a bucket that has something else as well."
        maxLength={256}
      />
      <TextField label="Region" {...input('region')} maxLength={63} required />
      <TextField
        label="Authorities"
        {...input('caBundle')}
        help="Certificates in PEM that sign the one of the server: these alone. Nothing for those of the system."
        lines
      />
      <CheckField
        label="Allow plain HTTP"
        value={form.allowHTTP}
        onChange={(allowHTTP) => setForm({ ...form, allowHTTP })}
        help="Others read then which files there are. Their content is encrypted all the same."
      />
    </>
  )
}

/** SetStoreCredentials sets what a bucket is reached with. Values go in and do not come out. */
export function SetStoreCredentials({ store, changed, close }: Of) {
  const tell = useTell()
  const [id, setID] = useState('')
  const [secret, setSecret] = useState('')
  const [session, setSession] = useState('')
  const params = { path: { backupStore: store.name } }
  const keys = useQuery({
    queryKey: ['backupstores', store.name, 'credentials'],
    queryFn: () => ok(api.GET(credentials, { params })),
  })
  const run = async () => {
    const body = { accessKeyID: id, secretAccessKey: secret, ...(session && { sessionToken: session }) }
    await ok(api.PUT(credentials, { params, body }))
    tell(`The credentials of backup store ${store.name} were set`)
    await changed()
  }
  const has = (keys.data?.keys ?? []).length > 0
  return (
    <FormDialog
      title={`Credentials of backup store ${store.name}`}
      about={`They go in and do not come out.${has ? ' They replace those that are set now.' : ''} The store is looked at at once.`}
      act="Set credentials"
      isIncomplete={!id || !secret}
      run={run}
      close={close}
    >
      <TextField label="Access key ID" value={id} onChange={setID} maxLength={256} required />
      <TextField
        label="Secret access key"
        type="password"
        autoComplete="new-password"
        value={secret}
        onChange={setSecret}
        maxLength={4096}
        required
      />
      <TextField
        label="Session token"
        type="password"
        autoComplete="new-password"
        value={session}
        onChange={setSession}
        help="Where there is one."
        maxLength={16384}
      />
    </FormDialog>
  )
}

/** RemoveStore deletes a store. Its place stays as it is. */
export function RemoveStore({ store, changed, close }: Of) {
  const tell = useTell()
  const run = async () => {
    const path = { backupStore: store.name }
    await ok(api.DELETE('/api/v1/backupstores/{backupStore}', { params: { path, header: { 'If-Match': '*' } } }))
    tell(`Backup store ${store.name} is being deleted`)
    await changed()
  }
  return (
    <FormDialog
      isDanger
      title={`Delete backup store ${store.name}?`}
      act="Delete the backup store"
      typed={store.name}
      run={run}
      close={close}
    >
      <p>It goes once it has no backup any more; delete those first. Its folder or bucket stays as it is.</p>
    </FormDialog>
  )
}
