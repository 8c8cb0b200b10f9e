import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Backup, BackupSchedule, Cluster, Restore } from '../../api/objects'
import { meQuery } from '../../app/queries'
import { Backups } from './backups'

const of = { organization: 'blue', cluster: 'demo' }
const cluster = { kind: 'Cluster', name: 'demo', uid: 'u', spec: { version: 'v1.36.3' } } as unknown as Cluster
const backup = {
  kind: 'Backup',
  name: 'monday',
  organization: 'blue',
  uid: 'b',
  createdAt: '2026-11-23T08:00:00Z',
  spec: { clusterName: 'demo', storeName: 'default' },
  status: { clusterUID: 'u', digest: 'sha256:1', size: '3Mi', newSize: '64Ki', takenTime: '2026-11-23T08:00:00Z' },
} as unknown as Backup
const compared = {
  kind: 'Restore',
  name: 'see',
  uid: 'r',
  createdAt: '2026-11-23T09:00:00Z',
  spec: { backupName: 'monday', compareOnly: true },
  status: {
    clusterName: 'demo',
    completionTime: '2026-11-23T09:00:10Z',
    changes: { added: 1, changed: 0, removed: 2, first: ['+ configmaps/default/late'] },
    conditions: ['BackupWhole', 'StateWritten'].map((type) => ({ type, status: 'True', reason: 'RestoreDone' })),
  },
} as unknown as Restore

const schedule = {
  kind: 'BackupSchedule',
  name: 'nightly',
  organization: 'blue',
  uid: 's',
  createdAt: '2026-11-23T08:00:00Z',
  spec: {
    clusterName: 'demo',
    schedule: '30 2 * * *',
    timeZone: 'Europe/Prague',
    retention: { keepLast: 3, keepDaily: 14 },
  },
  status: { backups: 5 },
} as unknown as BackupSchedule

const { POST, GET, PATCH } = vi.hoisted(() => ({ POST: vi.fn(), GET: vi.fn(), PATCH: vi.fn() }))
vi.mock('../../api/client', async (original) => ({ ...(await original<object>()), api: { GET, POST, PATCH } }))
vi.mock('../../api/live', () => ({ useLive: () => 'live' }))

beforeEach(() => {
  for (const call of [POST, PATCH]) call.mockReset().mockResolvedValue({ data: {}, response: new Response() })
  GET.mockReset().mockImplementation(async (path: string) => {
    const answers: Record<string, unknown> = {
      backups: { items: [backup] },
      restores: { items: [compared] },
      backupschedules: { items: [schedule] },
      '{restore}': compared,
    }
    return { data: answers[path.split('/').at(-1) ?? ''], response: new Response() }
  })
})
afterEach(cleanup)

function show(role: string, shown = cluster) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 60_000 } } })
  client.setQueryData(meQuery.queryKey, { kind: 'user', name: 'alice', roles: { blue: role } } as never)
  render(
    <QueryClientProvider client={client}>
      <Backups of={of} cluster={shown} />
    </QueryClientProvider>,
  )
}

async function choose(action: string) {
  fireEvent.click(await screen.findByRole('button', { name: 'Actions for monday' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: new RegExp(`^${action}(?! as)`) }))
}

test('backups and restores of the cluster are listed', async () => {
  show('operator')
  await screen.findByText('1 created, 0 changed, 2 removed')
  const table = screen.getByRole('grid', { name: 'Backups' })
  expect(table.textContent).toContain('monday')
  expect(table.textContent).toContain('3 MiB')
  for (const kind of ['backups', 'restores']) {
    const asked = GET.mock.calls.find(([path]) => path.endsWith(`/${kind}`))
    expect(asked?.[1].params.query, kind).toMatchObject({ cluster: 'demo', sort: '-createdAt' })
  }
})

test('a restore wants the name of the cluster', async () => {
  show('operator')
  await choose('Restore')
  const act = screen.getByRole<HTMLButtonElement>('button', { name: 'Restore the cluster' })
  expect(act.disabled).toBe(true)
  expect(document.body.textContent).toContain('is lost')
  fireEvent.change(screen.getByLabelText(/^Type demo/), { target: { value: 'demo' } })
  fireEvent.click(act)
  await screen.findByText(/^A restore would change/)
  expect(POST.mock.calls[0]?.[1].body.spec).toEqual({ backupName: 'monday', compareOnly: false })
})

test('a restore may be of some objects', async () => {
  show('operator')
  await choose('Restore')
  fireEvent.change(screen.getByLabelText(/^Type demo/), { target: { value: 'demo' } })
  const act = screen.getByRole<HTMLButtonElement>('button', { name: 'Restore the cluster' })
  const only = screen.getByLabelText('Only these objects')
  fireEvent.change(only, { target: { value: 'key' } })
  expect(act.disabled).toBe(true)
  fireEvent.change(only, { target: { value: 'Secret/shop/key' } })
  fireEvent.click(act)
  await vi.waitFor(() => expect(POST).toHaveBeenCalled())
  expect(POST.mock.calls[0]?.[1].body.spec.include).toEqual(['Secret/shop/key'])
})

test('a comparison shows what a restore would change', async () => {
  show('operator')
  await choose('Compare')
  fireEvent.click(screen.getByRole('button', { name: 'Compare' }))
  await screen.findByText(/^A restore would change/)
  expect(POST.mock.calls[0]?.[1].body.spec).toEqual({ backupName: 'monday', compareOnly: true })
  expect(document.body.textContent).toContain('+ configmaps/default/late')
})

test('who may not sees why', async () => {
  show('developer')
  const button = await screen.findByRole('button', { name: 'Back up now' })
  expect(button.getAttribute('aria-disabled')).toBe('true')
  await choose('Restore')
  expect(screen.getAllByText(/needs the role operator/).length).toBeGreaterThan(0)
  expect(screen.queryByRole('dialog')).toBeNull()
})

test('a cluster that others run has none', () => {
  show('owner', { ...cluster, spec: {} } as Cluster)
  expect(document.body.textContent).toContain('Others run it')
  expect(GET).not.toHaveBeenCalled()
})

test('a schedule of backups is shown, paused and changed', async () => {
  show('operator')
  await screen.findByText('last 3, 14 days')
  fireEvent.click(screen.getByRole('button', { name: 'Actions for nightly' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Pause' }))
  expect(PATCH.mock.calls[0]?.[1].body).toEqual({ spec: { paused: true } })
  fireEvent.click(screen.getByRole('button', { name: 'Actions for nightly' }))
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Change' }))
  fireEvent.change(screen.getByLabelText(/^Keep the last/), { target: { value: '' } })
  fireEvent.click(screen.getByRole('button', { name: 'Change' }))
  await vi.waitFor(() => expect(PATCH).toHaveBeenCalledTimes(2))
  expect(PATCH.mock.calls[1]?.[1].body.spec.retention).toEqual({
    keepLast: null,
    keepDaily: 14,
    keepWeekly: null,
    keepMonthly: null,
  })
})

test('a schedule is created', async () => {
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'Back up at times' }))
  fireEvent.change(screen.getByLabelText(/^Time zone/), { target: { value: 'UTC' } })
  fireEvent.click(screen.getByRole('button', { name: 'Create' }))
  await vi.waitFor(() => expect(POST).toHaveBeenCalled())
  expect(POST.mock.calls[0]?.[1].body).toEqual({
    name: 'demo-daily',
    spec: { clusterName: 'demo', schedule: '@daily', timeZone: 'UTC', retention: { keepLast: 7 } },
  })
})

test('a backup is restored as a new cluster', async () => {
  show('operator')
  await choose('Restore as a new cluster')
  const act = screen.getByRole<HTMLButtonElement>('button', { name: 'Create the cluster' })
  const name = screen.getByLabelText(/^Name of the new cluster/)
  fireEvent.change(name, { target: { value: 'demo' } })
  expect(act.disabled).toBe(true)
  fireEvent.change(name, { target: { value: 'twin' } })
  fireEvent.click(act)
  await vi.waitFor(() => expect(POST).toHaveBeenCalled())
  expect(POST.mock.calls[0]?.[1].body.spec).toEqual({ backupName: 'monday', newClusterName: 'twin' })
})
