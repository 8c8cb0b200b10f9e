import type { Schemas } from '../api/client'

export type BackupStore = Schemas['BackupStore']

/** What of a new store a form asks for. */
export interface StoreForm {
  name: string
  kind: 's3' | 'directory'
  directory: string
  endpoint: string
  allowHTTP: boolean
  region: string
  bucket: string
  prefix: string
  caBundle: string
  organizations: string
  recipients: string
  maxBackups: string
}

export const emptyStore: StoreForm = {
  name: '',
  kind: 's3',
  directory: '',
  endpoint: '',
  allowHTTP: false,
  region: 'us-east-1',
  bucket: '',
  prefix: '',
  caBundle: '',
  organizations: '',
  recipients: '',
  maxBackups: '200',
}

const words = (text: string) => text.split(/[\s,]+/).filter((word) => word !== '')

const checks: [field: keyof StoreForm, of: StoreForm['kind'] | 'both', fits: RegExp, fault: string][] = [
  ['name', 'both', /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, 'Small letters, digits and -, at most 63.'],
  ['directory', 'directory', /^\/./, 'An absolute path, such as /mnt/nas/kqueen.'],
  ['endpoint', 's3', /^https?:\/\/[^/?#@\s]+$/, 'A URL without a path, such as https://s3.example.com.'],
  ['region', 's3', /^[A-Za-z0-9-]{1,63}$/, 'Letters, digits and -, such as eu-west-1.'],
  ['bucket', 's3', /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'From 3 to 63 small letters, digits, - and dots.'],
  [
    'prefix',
    's3',
    /^([A-Za-z0-9_-][A-Za-z0-9._-]*(\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)?$/,
    'Such as kqueen or teams/kqueen, without / at its ends.',
  ],
  ['maxBackups', 'both', /^([1-9]\d{0,3}|10000)$/, 'A number from 1 to 10000.'],
]

/** faultsOf says what is wrong in a form, by field, before the server is asked. */
export function faultsOf(form: StoreForm): Partial<Record<keyof StoreForm, string>> {
  const faults: Partial<Record<keyof StoreForm, string>> = {}
  for (const [field, of, fits, fault] of checks) {
    if ((of === 'both' || of === form.kind) && !fits.test(String(form[field]).trim())) faults[field] = fault
  }
  if (form.kind === 's3' && !faults.endpoint && form.endpoint.trim().startsWith('http://') && !form.allowHTTP)
    faults.endpoint = 'It has to begin with https://, unless plain HTTP is allowed below.'
  if (words(form.recipients).some((one) => !/^age1[0-9a-z]+$/.test(one)))
    faults.recipients = 'Public keys of age begin with age1.'
  return faults
}

/** specOf is what a form says. */
export function specOf(form: StoreForm): NonNullable<BackupStore['spec']> {
  const [organizationNames, recipients] = [words(form.organizations), words(form.recipients)]
  const [prefix, caBundle] = [form.prefix.trim(), form.caBundle.trim()]
  const place =
    form.kind === 'directory'
      ? { directory: form.directory.trim() }
      : {
          s3: {
            endpoint: form.endpoint.trim(),
            region: form.region.trim(),
            bucket: form.bucket.trim(),
            ...(prefix && { prefix }),
            ...(caBundle && { caBundle: `${caBundle}\n` }),
            ...(form.allowHTTP && { allowHTTP: true }),
          },
        }
  return {
    ...place,
    maxBackups: Number(form.maxBackups),
    ...(organizationNames.length > 0 && { organizationNames }),
    ...(recipients.length > 0 && { recipients }),
  }
}

/** placeOf says where a store keeps backups. */
export function placeOf({ spec }: BackupStore): string {
  if (!spec?.s3) return spec?.directory ?? ''
  const { endpoint, bucket, prefix } = spec.s3
  return [endpoint, bucket, prefix].filter(Boolean).join('/')
}
