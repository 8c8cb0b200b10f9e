import { expect, type Route, test } from '@playwright/test'
import { cluster, desk, inside, organization, picture, visit } from './pages'
import { settled, signIn, violations } from './session'

// Every dialog and menu: axe finds nothing while it is open, light and dark, and Escape closes it.

test.use({ trace: 'off' })

type Step = ['button' | 'menuitem' | 'tab' | 'checkbox', string | RegExp]

interface Shown {
  path: string
  /** What is clicked, one after the other, until it is open. */
  steps: Step[]
  /** What is open then; a dialog where nothing else is said. */
  role?: 'menu' | 'listbox'
}

const settings = `/portal/organizations/${organization}`
const shown: Record<string, Shown> = {
  'the palette': { path: '/portal/', steps: [['button', 'Find (Ctrl-K)']] },
  'the menu of the user': { path: '/portal/', steps: [['button', /: account$/]], role: 'menu' },
  'the choice of an organization': { path: '/portal/', steps: [['button', /^Organization: /]], role: 'listbox' },
  'a filter of clusters': { path: '/portal/clusters', steps: [['button', /^Version/]], role: 'listbox' },
  'CLI and API': { path: '/portal/clusters', steps: [['button', 'CLI and API']] },
  'delete chosen clusters': {
    path: '/portal/clusters',
    steps: [
      ['checkbox', `Choose ${organization}/${cluster}`],
      ['button', 'Delete chosen'],
    ],
  },
  'upgrade a cluster': { path: inside, steps: [['button', 'Upgrade']] },
  'rehearse an upgrade': { path: `${inside}?tab=upgrades`, steps: [['button', 'Rehearse an upgrade']] },
  'CLI and API of upgrades': { path: `${inside}?tab=upgrades`, steps: [['button', 'CLI and API']] },
  'end an upgrade': { path: `${inside}?tab=upgrades`, steps: [['button', 'End the upgrade']] },
  'delete a cluster': { path: inside, steps: [['button', 'Delete']] },
  'create a node pool': { path: `${inside}?tab=nodes`, steps: [['button', 'Create a node pool']] },
  'scale a node pool': { path: `${inside}?tab=nodes`, steps: [['button', /^Scale /]] },
  'delete a node pool': { path: `${inside}?tab=nodes`, steps: [['button', /^Delete \S/]] },
  'replace a node': { path: `${inside}?tab=nodes`, steps: [['button', /^Replace/]] },
  'break the glass': { path: `${inside}?tab=connect`, steps: [['button', 'Get the break-glass kubeconfig']] },
  'CLI and API of connecting': { path: `${inside}?tab=connect`, steps: [['button', 'CLI and API']] },
  'take a backup': { path: `${inside}?tab=backups`, steps: [['button', 'Back up now']] },
  'back up at times': { path: `${inside}?tab=backups`, steps: [['button', 'Back up at times']] },
  'the menu of a backup': { path: `${inside}?tab=backups`, steps: [['button', 'Actions for monday']], role: 'menu' },
  'compare with a backup': ofBackup(/^Compare/),
  'restore a backup': ofBackup(/^Restore(?! as)/),
  'restore a backup as a new cluster': ofBackup(/^Restore as/),
  'delete a backup': ofBackup(/^Delete/),
  'details of a comparison': { path: `${inside}?tab=backups`, steps: [['button', 'see']] },
  'when a cluster sleeps': { path: inside, steps: [['button', 'Change when it sleeps']] },
  'maintenance of a cluster': { path: inside, steps: [['button', 'Change maintenance']] },
  'rotate a credential': {
    path: `${inside}?tab=credentials`,
    steps: [['button', 'Rotate: Certificate authority']],
  },
  'finish a rotation': { path: `${inside}?tab=credentials&rotating=yes`, steps: [['button', 'Finish the rotation']] },
  'create a backup store': { path: '/portal/admin?tab=stores', steps: [['button', 'Create backup store']] },
  'create a provisioner': { path: '/portal/provisioners', steps: [['button', 'Create provisioner']] },
  'find digests': { path: '/portal/inventory', steps: [['button', 'Find digests']] },
  'create an organization': { path: '/portal/organizations', steps: [['button', 'Create organization']] },
  'invite a member': { path: settings, steps: [['button', 'Add member']] },
  'change limits': { path: `${settings}?tab=quota`, steps: [['button', 'Change limits']] },
  'create a service account': { path: `${settings}?tab=accounts`, steps: [['button', 'Create service account']] },
  'create a user': { path: '/portal/admin?tab=users', steps: [['button', 'Create user']] },
  'a new token': { path: '/portal/profile?tab=tokens', steps: [['button', 'Create token']] },
}

function ofBackup(action: RegExp): Shown {
  return {
    path: `${inside}?tab=backups`,
    steps: [
      ['button', 'Actions for monday'],
      ['menuitem', action],
    ],
  }
}

test('every dialog and menu', async ({ page }) => {
  const said: string[] = []
  page.on('pageerror', (error) => said.push(`${page.url()}: ${error.message}`))
  await page.setViewportSize(desk)
  await signIn(page, process.env.PORTAL_USER ?? 'admin', process.env.PORTAL_PASSWORD ?? '')
  await page.route(/\/(backups|restores)(\/|\?)/, backedUp)
  await page.route(/\/upgrades\?/, upgrading)
  await page.route(/\/rotations\?/, rotating)
  for (const [name, { path, steps, role = 'dialog' }] of Object.entries(shown)) {
    await test.step(name, async () => {
      await visit(page, path)
      for (const [kind, of] of steps) await page.getByRole(kind, { name: of, exact: true }).first().click()
      const open = page.getByRole(role).last()
      await expect(open).toBeVisible()
      for (const look of ['light', 'dark']) {
        await page.evaluate(
          (dark) => document.documentElement.classList.toggle('pf-v6-theme-dark', dark),
          look === 'dark',
        )
        await settled(page)
        expect.soft(await violations(page), `axe on ${name}, ${look}`).toEqual([])
        await picture(page, `${name}-${look}`)
      }
      await page.keyboard.press('Escape')
      await expect.soft(open, `${name} after Escape`).toBeHidden()
    })
  }
  expect(said).toEqual([])
})

/** backedUp answers that the cluster has a backup and a comparison, which take a while to make. */
async function backedUp(route: Route) {
  if (route.request().resourceType() === 'eventsource') return route.continue()
  const of = { organization, createdAt: '2026-11-23T08:00:00Z', generation: 1, revision: '1' }
  const backup = {
    ...of,
    kind: 'Backup',
    name: 'monday',
    uid: 'b',
    spec: { clusterName: cluster, storeName: 'default' },
    status: { digest: 'sha256:1', size: '3Mi', newSize: '64Ki', takenTime: of.createdAt, verifiedTime: of.createdAt },
  }
  const restore = {
    ...of,
    kind: 'Restore',
    name: 'see',
    uid: 'r',
    spec: { backupName: 'monday', compareOnly: true },
    status: {
      clusterName: cluster,
      completionTime: of.createdAt,
      changes: {
        added: 1,
        changed: 0,
        removed: 1,
        first: ['+ registry/configmaps/default/early', '- registry/pods/default/late'],
      },
      conditions: ['BackupWhole', 'StateWritten', 'Ready'].map((type) => ({
        type,
        status: 'True',
        reason: 'RestoreDone',
      })),
    },
  }
  const path = new URL(route.request().url()).pathname
  if (path.endsWith('/see')) return route.fulfill({ json: restore })
  await route.fulfill({ json: { items: [path.endsWith('/backups') ? backup : restore] } })
}

/** upgrading answers that an upgrade of the cluster goes on, and that something stands against it. */
async function upgrading(route: Route) {
  if (route.request().resourceType() === 'eventsource') return route.continue()
  const createdAt = '2026-11-23T08:00:00Z'
  const upgrade = {
    organization,
    createdAt,
    generation: 1,
    revision: '1',
    kind: 'Upgrade',
    name: `${cluster}-v9.9.9`,
    uid: 'u',
    spec: { clusterName: cluster, version: 'v9.9.9' },
    status: {
      fromVersion: 'v9.8.9',
      steps: [
        { name: 'Preflight', kind: 'Preflight', state: 'Running', startedTime: createdAt, lastSeconds: 3 },
        {
          name: 'Control plane to v9.9.9',
          kind: 'ControlPlane',
          state: 'Pending',
          why: 'the version that was asked for',
        },
      ],
      findings: [
        { check: 'NodesReady', severity: 'Blocks', object: 'Node a', message: 'is not ready', fix: 'see why' },
        { check: 'OwnVersions', severity: 'Warns', message: 'a pool has a version of its own' },
      ],
    },
  }
  await route.fulfill({ json: { items: [upgrade] } })
}

/** rotating answers on one page that the authority of the cluster is being replaced, and that both are accepted. */
async function rotating(route: Route) {
  const request = route.request()
  if (request.resourceType() === 'eventsource' || !request.frame().url().includes('rotating')) return route.continue()
  const createdAt = '2026-11-23T08:00:00Z'
  const is = (type: string, status: string, reason: string) => ({ type, status, reason, message: '' })
  const rotation = {
    organization,
    createdAt,
    generation: 1,
    revision: '1',
    kind: 'Rotation',
    name: `${cluster}-ca`,
    uid: 'o',
    spec: { clusterName: cluster, credential: 'CertificateAuthority' },
    status: {
      olderPods: 2,
      olderPodNames: ['kube-system/coredns'],
      conditions: [
        is('NewTrusted', 'True', 'RotationStepDone'),
        is('NewSigns', 'True', 'RotationStepDone'),
        is('NewServes', 'False', 'RotationAwaitsFinish'),
      ],
    },
  }
  await route.fulfill({ json: { items: [rotation] } })
}
