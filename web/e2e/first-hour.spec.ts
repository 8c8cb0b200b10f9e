import { execFileSync } from 'node:child_process'
import { expect, type Page, test } from '@playwright/test'
import { signIn } from './session'

// What a new administrator does, from the link of `kqueen up` on, beside a cluster demo of the organization default that has nodes and the
// pods of test/e2e/testdata/workers.

const setup = process.env.KQUEEN_SETUP ?? ''
const server = process.env.KQUEEN_SERVER ?? ''
const password = 'correct horse battery'

test('the first hour of an administrator', async ({ page, browser }) => {
  const said: string[] = []
  page.on('pageerror', (error) => said.push(error.message))

  await test.step('create the first administrator by the link', async () => {
    await page.goto(setup)
    await page.getByLabel('Name, to sign in with').fill('root')
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByLabel('Password, again').fill(password)
    await page.getByRole('button', { name: 'Create and sign in' }).click()
    await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
    await page.goto(setup)
    await page.getByLabel('Name, to sign in with').fill('second')
    await page.getByLabel('Password', { exact: true }).fill(password)
    await page.getByLabel('Password, again').fill(password)
    await page.getByRole('button', { name: 'Create and sign in' }).click()
    await expect(page.getByRole('alert')).toBeVisible()
  })

  await test.step('create a cluster by the keyboard, and see it become ready', async () => {
    await page.goto('/portal/create')
    const form = page.getByRole('form', { name: 'Cluster' })
    await form.getByLabel(/^Organization/).selectOption('default')
    await form.getByLabel(/^Name/).focus()
    await page.keyboard.type('first')
    await reach(page, 'Create')
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { name: 'first', level: 1 })).toBeVisible()
    await expect(page.getByText('Ready', { exact: true }).first()).toBeVisible({ timeout: 120_000 })
    await expect(page.getByText('Live', { exact: true })).toBeVisible()
  })

  await test.step('connect with the downloaded kubeconfig', async () => {
    const token = await createToken(page)
    await page.goto('/portal/organizations/default/clusters/first?tab=connect')
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Download the kubeconfig' }).click()
    const file = await (await downloading).path()
    const env = { ...process.env, KQUEEN_SERVER: server, KQUEEN_TOKEN: token }
    const seen = execFileSync(
      process.env.KUBECTL ?? 'kubectl',
      ['--kubeconfig', file, 'get', 'namespaces', '-o', 'name'],
      { env },
    )
    expect(seen.toString()).toContain('namespace/kube-system')
  })

  await test.step('create a node pool and scale it', async () => {
    await page.goto('/portal/organizations/default/clusters/first?tab=nodes')
    await page.getByRole('button', { name: 'Create a node pool' }).first().click()
    const create = page.getByRole('dialog')
    await create.getByLabel(/^Name/).fill('small')
    await create.getByRole('button', { name: 'Create', exact: true }).click()
    await expect(create).toBeHidden()
    await page.getByRole('button', { name: 'Scale small' }).click()
    const scale = page.getByRole('dialog')
    await scale.getByRole('spinbutton').fill('0')
    await scale.getByRole('button', { name: 'Scale', exact: true }).click()
    await expect(scale).toBeHidden()
    await expect(page.getByRole('row', { name: /small/ })).toContainText('0 of 0', { timeout: 120_000 })
  })

  await test.step('open a shell in a pod, and read its log', async () => {
    await page.goto('/portal/organizations/default/clusters/demo?tab=workloads&list=containers&ns=default')
    const pod = page.getByRole('row', { name: /db-1/ }).first()
    await pod.getByRole('button', { name: /^shell/i }).click()
    const screen = page.locator('.kq-terminal')
    await expect(screen).toContainText(/[#$]/)
    await page.keyboard.type('echo from-$((40+2))-the-pod\n')
    await expect(screen).toContainText('from-42-the-pod')
    await page.keyboard.type('exit\n')
    await expect(page.getByText('The shell has ended.')).toBeVisible()
    await page.getByRole('button', { name: 'Close' }).click()
    const web = page.getByRole('row', { name: /web-/ }).first()
    await web.getByRole('button', { name: /^log/i }).click()
    await expect(page.getByRole('log')).toContainText('serving')
    await page.getByRole('button', { name: 'Close' }).click()
  })

  await test.step('find who runs an image', async () => {
    const image = process.env.KQUEEN_IMAGE ?? ''
    await page.goto(`/portal/inventory?text=${encodeURIComponent(image.split(':')[0] ?? '')}`)
    await page
      .getByRole('row', { name: new RegExp(image.split('/').at(-1) ?? '') })
      .first()
      .getByRole('link')
      .first()
      .click()
    await expect(page.getByRole('row', { name: /db-1/ }).first()).toBeVisible()
  })

  await test.step('read the action log', async () => {
    await page.goto('/portal/audit?org=default')
    await expect(page.getByRole('row', { name: /create.*first/i }).first()).toBeVisible()
  })

  const link = await test.step('invite a viewer', async () => {
    await page.goto('/portal/admin?tab=users')
    await page.getByRole('button', { name: 'Create user' }).first().click()
    const create = page.getByRole('dialog')
    await create.getByLabel(/^Name/).fill('victor')
    await create.getByRole('button', { name: 'Create user' }).click()
    const once = await secret(page, /welcome\?token=/)
    await page.goto('/portal/organizations/default')
    await page.getByRole('button', { name: 'Add member' }).first().click()
    const add = page.getByRole('dialog')
    await add.getByRole('textbox', { name: /^User/ }).fill('victor')
    await add.getByRole('button', { name: 'Add member' }).click()
    await expect(page.getByRole('row', { name: /victor/ })).toContainText('viewer')
    return once
  })

  await test.step('sign in as the viewer, and see what is refused and why', async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    const other = await context.newPage()
    await other.goto(link)
    await other.getByLabel('Password', { exact: true }).fill(password)
    await other.getByLabel('Password, again').fill(password)
    await other.getByRole('button', { name: 'Set the password' }).click()
    await signIn(other, 'victor', password)
    await other.goto('/portal/organizations/default/clusters/first')
    const remove = other.getByRole('button', { name: 'Delete' }).first()
    await expect(remove).toHaveAttribute('aria-disabled', 'true')
    await remove.focus()
    await expect(other.getByRole('tooltip')).toContainText(
      'This needs the role operator or higher in the organization default; yours is viewer.',
    )
    await other.getByRole('button', { name: 'victor' }).click()
    await other.getByRole('menuitem', { name: 'Sign out' }).click()
    await expect(other.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await other.goto('/portal/')
    await expect(other.getByRole('heading', { name: 'Sign in' })).toBeVisible()
    await context.close()
  })

  await test.step('delete the cluster', async () => {
    await page.goto('/portal/organizations/default/clusters/first')
    await page.getByRole('button', { name: 'Delete', exact: true }).first().click()
    const confirm = page.getByRole('dialog')
    await confirm.getByRole('textbox').fill('first')
    await confirm
      .getByRole('button', { name: /delete/i })
      .last()
      .click()
    await page.goto('/portal/clusters')
    await expect(page.getByRole('link', { name: 'demo' })).toBeVisible()
    await expect(page.getByRole('link', { name: 'first' })).toHaveCount(0, { timeout: 120_000 })
  })

  expect(said).toEqual([])
})

/** reach goes on by the tabulator until a button has the focus. */
async function reach(page: Page, name: string) {
  const button = page.getByRole('button', { name, exact: true })
  for (let i = 0; i < 40; i++) {
    if (await button.evaluate((element) => element === document.activeElement)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`${name} cannot be reached by the keyboard`)
}

/** createToken makes a token of the user in the profile. */
async function createToken(page: Page): Promise<string> {
  await page.goto('/portal/profile?tab=tokens')
  await page.getByRole('button', { name: 'Create token' }).first().click()
  const create = page.getByRole('dialog')
  await create.getByLabel(/^Name/).fill('kubectl')
  await create.getByRole('button', { name: 'Create token' }).click()
  return secret(page, /^kqt_/)
}

/** secret is what a dialog shows once. */
async function secret(page: Page, text: RegExp): Promise<string> {
  const dialog = page.getByRole('dialog')
  const shown = (await dialog.getByText(text).first().textContent())?.trim() ?? ''
  await dialog.getByRole('button', { name: 'Done, I have copied it' }).click()
  return shown
}
