import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Cluster, Rehearsal, Upgrade } from '../../api/objects'
import { meQuery } from '../../app/queries'
import { Upgrades } from './upgrades'

const of = { organization: 'blue', cluster: 'demo' }
const cluster = { kind: 'Cluster', name: 'demo', uid: 'u', status: { version: 'v1.35.4' } } as unknown as Cluster
const budget = {
  check: 'DisruptionBudgets',
  severity: 'Blocks',
  object: 'PodDisruptionBudget shop/web',
  message: 'allows no pod to go',
  fix: 'raise its replicas',
}
const running = {
  kind: 'Upgrade',
  name: 'demo-v1.36.3',
  organization: 'blue',
  uid: 'a',
  createdAt: '2026-11-26T08:00:00Z',
  spec: { clusterName: 'demo', version: 'v1.36.3' },
  status: {
    fromVersion: 'v1.35.4',
    findings: [budget],
    steps: [
      { name: 'look at the cluster', kind: 'Preflight', state: 'Running', startedTime: '2026-11-26T08:00:01Z' },
      { name: 'control plane to v1.36.3', kind: 'ControlPlane', state: 'Pending', why: 'asked for' },
    ],
  },
} as unknown as Upgrade
const ended = {
  ...running,
  name: 'demo-v1.35.4',
  uid: 'b',
  spec: { clusterName: 'demo', version: 'v1.35.4' },
  status: { fromVersion: 'v1.35.3', backupName: 'before-demo', completionTime: '2026-11-25T08:00:00Z' },
} as unknown as Upgrade
const rehearsal = {
  kind: 'Rehearsal',
  name: 'demo-v1.36.3-abcde',
  organization: 'blue',
  uid: 'r',
  createdAt: '2026-11-26T07:00:00Z',
  spec: { clusterName: 'demo', version: 'v1.36.3' },
  status: {
    fromVersion: 'v1.35.4',
    copiedObjects: 551,
    blockingFindings: 1,
    findings: [{ check: 'StoredVersions', severity: 'Blocks', object: 'Thing old', message: 'is stored as v1alpha1' }],
    completionTime: '2026-11-26T07:00:07Z',
  },
} as unknown as Rehearsal
const releases = ['v1.35.4', 'v1.36.3'].map((name) => ({
  name,
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
}))
const plan = {
  findings: [budget],
  steps: [{ name: 'control plane to v1.36.3', kind: 'ControlPlane', why: 'asked for', lastSeconds: 16 }],
}

const { POST, GET, PATCH, DELETE } = vi.hoisted(() => ({
  POST: vi.fn(),
  GET: vi.fn(),
  PATCH: vi.fn(),
  DELETE: vi.fn(),
}))
vi.mock('../../api/client', async (original) => ({
  ...(await original<object>()),
  api: { GET, POST, PATCH, DELETE },
}))
vi.mock('../../api/live', () => ({ useLive: () => 'live' }))

beforeEach(() => {
  for (const call of [POST, PATCH, DELETE]) call.mockReset().mockResolvedValue({ data: {}, response: new Response() })
  GET.mockReset().mockImplementation(async (path: string) => {
    const answers: Record<string, unknown> = {
      upgrades: { items: [running, ended] },
      rehearsals: { items: [rehearsal] },
      releases: { items: releases },
      'upgrade-plan': plan,
    }
    return { data: answers[path.split('/').at(-1) ?? ''], response: new Response() }
  })
})
afterEach(cleanup)

function show(role: string) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false, staleTime: 60_000 } } })
  client.setQueryData(meQuery.queryKey, { kind: 'user', name: 'alice', roles: { blue: role } } as never)
  render(
    <QueryClientProvider client={client}>
      <Upgrades of={of} cluster={cluster} />
    </QueryClientProvider>,
  )
}

test('the upgrade that goes on is shown with its steps and what stands against it, and those before it', async () => {
  show('operator')
  const steps = await screen.findByRole('grid', { name: 'Steps' })
  expect(steps.textContent).toContain('at work')
  expect(screen.getAllByRole('grid', { name: 'Findings' })[0]?.textContent).toContain('PodDisruptionBudget shop/web')
  expect(screen.getByRole('grid', { name: 'Upgrades' }).textContent).toContain('before-demo')
})

test('a finding is ignored', async () => {
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'Ignore DisruptionBudgets' }))
  expect(PATCH.mock.calls[0]?.[1].body).toEqual({ spec: { ignore: ['DisruptionBudgets'] } })
})

test('an upgrade is paused', async () => {
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'Pause' }))
  expect(PATCH.mock.calls[0]?.[1].body).toEqual({ spec: { paused: true } })
})

test('a step that waits for a maintenance window begins at once', async () => {
  const waits = { ...running, status: { ...running.status, nextWindowTime: '2026-11-28T02:00:00Z' } }
  const answer = GET.getMockImplementation()
  GET.mockImplementation(async (path: string) =>
    path.endsWith('/upgrades') ? { data: { items: [waits] }, response: new Response() } : answer?.(path),
  )
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'Begin it now' }))
  expect(PATCH.mock.calls[0]?.[1].body).toEqual({ spec: { ignoreMaintenance: true } })
})

test('an upgrade is ended by the name of its cluster', async () => {
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'End the upgrade' }))
  expect(document.body.textContent).toContain('It has changed nothing yet')
  const act = screen.getAllByRole<HTMLButtonElement>('button', { name: 'End the upgrade' }).at(-1)
  expect(act?.disabled).toBe(true)
  fireEvent.change(screen.getByLabelText(/^Type demo/), { target: { value: 'demo' } })
  fireEvent.click(act as HTMLElement)
  expect(DELETE.mock.calls[0]?.[1].params.path).toEqual({ organization: 'blue', upgrade: 'demo-v1.36.3' })
})

test('the plan of an upgrade is shown before it is created', async () => {
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'Upgrade to another version' }))
  await screen.findByText(/1 finding would keep the upgrade from going on/)
  expect(screen.getByRole('dialog').textContent).toContain('16 s')
  fireEvent.click(screen.getByRole('button', { name: 'Upgrade' }))
  await vi.waitFor(() => expect(POST).toHaveBeenCalled())
  expect(POST.mock.calls[0]?.[1].body).toEqual({
    name: 'demo-v1.36.3',
    spec: { clusterName: 'demo', version: 'v1.36.3', backup: true },
  })
})

test('the cluster goes back to where its last upgrade came from', async () => {
  const done = {
    ...ended,
    spec: { clusterName: 'demo', version: 'v1.35.4' },
    status: { ...ended.status, fromVersion: 'v1.34.4' },
  }
  const answer = GET.getMockImplementation()
  GET.mockImplementation(async (path: string) =>
    path.endsWith('/upgrades') ? { data: { items: [done] }, response: new Response() } : answer?.(path),
  )
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'Roll back to v1.34.4' }))
  await screen.findByText(/1 finding would keep the upgrade from going on/)
  fireEvent.click(screen.getByRole('button', { name: 'Roll back' }))
  await vi.waitFor(() => expect(POST).toHaveBeenCalled())
  expect(POST.mock.calls[0]?.[1].body).toEqual({
    name: 'demo-back-to-v1.34.4',
    spec: { clusterName: 'demo', version: 'v1.34.4', backup: true, rollback: true },
  })
})

test('a cluster that cannot take newer objects along goes back with the backup of its upgrade', async () => {
  const done = {
    ...ended,
    spec: { clusterName: 'demo', version: 'v1.35.4' },
    status: { ...ended.status, fromVersion: 'v1.34.4' },
  }
  const answer = GET.getMockImplementation()
  GET.mockImplementation(async (path: string) => {
    if (path.endsWith('/upgrades')) return { data: { items: [done] }, response: new Response() }
    if (!path.endsWith('/upgrade-plan')) return answer?.(path)
    const newer = { check: 'NewerObjects', severity: 'Blocks', object: 'Thing new', message: 'only v1.35 has it' }
    return { data: { ...plan, findings: [newer] }, response: new Response() }
  })
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'Roll back to v1.34.4' }))
  fireEvent.click(await screen.findByRole('checkbox', { name: 'Restore backup before-demo, of before the upgrade' }))
  const act = () => screen.getByRole('button', { name: 'Roll back' })
  fireEvent.click(act())
  expect(POST).not.toHaveBeenCalled()
  fireEvent.change(screen.getByRole('textbox', { name: 'Type demo to go on' }), { target: { value: 'demo' } })
  fireEvent.click(act())
  await vi.waitFor(() => expect(POST).toHaveBeenCalled())
  expect(POST.mock.calls[0]?.[1].body.spec).toEqual({
    clusterName: 'demo',
    version: 'v1.34.4',
    backup: true,
    rollback: true,
    restoreBackupName: 'before-demo',
  })
})

test('who may not sees why', async () => {
  show('developer')
  const button = await screen.findByRole('button', { name: 'Pause' })
  expect(button.getAttribute('aria-disabled')).toBe('true')
})

test('what a rehearsal has found is shown with its verdict', async () => {
  show('operator')
  const rehearsals = await screen.findByRole('grid', { name: 'Rehearsals' })
  await vi.waitFor(() => expect(rehearsals.textContent).toContain('1 finding would block or break it'))
  expect(document.body.textContent).toContain('Thing old')
})

test('an upgrade is rehearsed, each time anew', async () => {
  show('operator')
  fireEvent.click(await screen.findByRole('button', { name: 'Rehearse an upgrade' }))
  await vi.waitFor(() =>
    expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Rehearse' }).disabled).toBe(false),
  )
  fireEvent.click(screen.getByRole('button', { name: 'Rehearse' }))
  await vi.waitFor(() => expect(POST).toHaveBeenCalled())
  expect(POST.mock.calls[0]?.[0]).toContain('/rehearsals')
  expect(POST.mock.calls[0]?.[1].body).toEqual({
    name: expect.stringMatching(/^demo-v1\.36\.3-[a-z0-9]+$/),
    spec: { clusterName: 'demo', version: 'v1.36.3' },
  })
})

test('who may not rehearse sees why', async () => {
  show('developer')
  const button = await screen.findByRole('button', { name: 'Rehearse an upgrade' })
  expect(button.getAttribute('aria-disabled')).toBe('true')
})
