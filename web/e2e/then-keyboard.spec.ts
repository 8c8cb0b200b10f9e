import { expect, type Locator, type Page, test } from '@playwright/test'
import { organization } from './pages'
import { signIn } from './session'

// A cluster is created and deleted without a mouse, and wherever the focus is can be seen.

test.use({ trace: 'off', contextOptions: { reducedMotion: 'reduce' } })

test('create and delete a cluster by the keyboard alone', async ({ page }) => {
  const { keyboard } = page
  await signIn(page, process.env.PORTAL_USER ?? 'admin', process.env.PORTAL_PASSWORD ?? '')

  await test.step('skip the navigation', async () => {
    await to(page, page.getByRole('link', { name: 'Skip to content' }))
    await keyboard.press('Enter')
    await expect(page.locator('#main')).toBeFocused()
  })

  await test.step('find the page with Ctrl-K', async () => {
    await keyboard.press('Control+k')
    const palette = page.getByRole('dialog', { name: 'Find pages and clusters' })
    await expect(palette.getByRole('textbox')).toBeFocused()
    await seen(page)
    await keyboard.type('cluster')
    const hits = palette.getByRole('listitem')
    await expect(hits.filter({ hasText: 'Create a cluster' })).toBeVisible()
    await expect(palette.getByLabel('Searching')).toBeHidden()
    const create = palette.locator('.pf-m-current', { hasText: 'Create a cluster' })
    for (let n = await hits.count(); n > 0 && !(await create.isVisible()); n--) await keyboard.press('ArrowDown')
    await expect(create).toBeVisible()
    await keyboard.press('Enter')
    await expect(palette).toBeHidden()
    await expect(page.getByRole('heading', { name: 'Create a cluster', level: 1 })).toBeVisible()
    await expect(page.locator('#main')).toBeFocused()
  })

  await test.step('fill in the form, and create', async () => {
    const form = page.getByRole('form', { name: 'Cluster' })
    await to(page, form.getByLabel(/^Organization/))
    await keyboard.type(organization)
    await expect(form.getByLabel(/^Organization/)).toHaveValue(organization)
    await to(page, form.getByLabel(/^Name/))
    await keyboard.type('by-keys')
    await to(page, form.getByRole('button', { name: /^Advanced/ }))
    await keyboard.press('Enter')
    await to(page, form.getByLabel('Audit log of the API server'))
    await keyboard.press('ArrowDown')
    await to(page, page.getByRole('button', { name: 'Create', exact: true }))
    await keyboard.press('Enter')
    await expect(page.getByRole('heading', { name: 'by-keys', level: 1 })).toBeVisible()
    await expect(page.locator('#main')).toBeFocused()
  })

  await test.step('look at a tab', async () => {
    await to(page, page.getByRole('tab', { name: 'YAML' }))
    await keyboard.press('Enter')
    await expect(page.getByRole('tab', { name: 'YAML', selected: true })).toBeVisible()
  })

  await test.step('delete it', async () => {
    await to(page, page.getByRole('button', { name: 'Delete', exact: true }), 'Shift+Tab')
    await keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await to(page, dialog.getByRole('textbox'))
    await keyboard.type('by-keys')
    await to(page, dialog.getByRole('button', { name: 'Delete the cluster' }))
    await keyboard.press('Enter')
    await expect(dialog).toBeHidden()
  })
})

/** to goes on by the tabulator until something has the focus, which can be seen on the way. */
async function to(page: Page, target: Locator, key = 'Tab') {
  await expect(target).toBeVisible()
  for (let n = 0; n < 60; n++) {
    await page.keyboard.press(key)
    await seen(page)
    if (await target.evaluate((element) => element === document.activeElement)) return
  }
  throw new Error(`${target} cannot be reached by the keyboard`)
}

/** seen wants that what has the focus is in the window, and looks another way than without it. */
async function seen(page: Page) {
  const focused = await page.evaluateHandle(() => document.activeElement as HTMLElement)
  const name = await focused.evaluate((element) => element.outerHTML.slice(0, 200))
  await expect(page.locator(':focus'), name).toBeInViewport()
  const box = await focused.boundingBox()
  if (!box) throw new Error(`what has the focus is not shown: ${name}`)
  const window = page.viewportSize() ?? { width: 0, height: 0 }
  const [x, y] = [Math.max(box.x - 6, 0), Math.max(box.y - 6, 0)]
  const clip = {
    x,
    y,
    width: Math.min(box.x + box.width + 6, window.width) - x,
    height: Math.min(box.y + box.height + 6, window.height) - y,
  }
  const withFocus = await page.screenshot({ clip, animations: 'disabled' })
  await focused.evaluate((element) => element.blur())
  const without = await page.screenshot({ clip, animations: 'disabled' })
  await focused.evaluate((element) => element.focus({ preventScroll: true }))
  expect(withFocus.equals(without), `the focus cannot be seen on ${name}`).toBe(false)
}
