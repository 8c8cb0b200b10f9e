import { expect, test } from '@playwright/test'
import { desk, pages, phone, picture, visit } from './pages'
import { overflow, settled, signIn, violations } from './session'

// Every page: axe finds nothing, light and dark; nothing overflows, also on a phone; and the console is silent. With SCREENSHOTS=folder
// it leaves pictures there: `make screenshots`.

// A trace of every step takes as long as the pages themselves, and what is wrong is said with the name of the page.
test.use({ trace: 'off' })

const user = process.env.PORTAL_USER ?? 'admin'

test('every page', async ({ page }) => {
  const said: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') said.push(`${page.url()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => said.push(`${page.url()}: ${error.message}`))
  await signIn(page, user, process.env.PORTAL_PASSWORD ?? '')
  for (const [name, path] of Object.entries(pages)) {
    await test.step(name, async () => {
      await page.setViewportSize(desk)
      await visit(page, path)
      expect.soft(await violations(page), `axe on ${name}`).toEqual([])
      expect.soft(await overflow(page), `overflow of ${name}`).toBeLessThanOrEqual(0)
      await picture(page, `${name}-desk`)

      // What the button in the masthead does. Only colors change, so that of axe's rules only that of colors is asked again.
      await page.evaluate(() => document.documentElement.classList.add('pf-v6-theme-dark'))
      await settled(page)
      expect.soft(await violations(page, ['color-contrast']), `axe on ${name}, dark`).toEqual([])
      await picture(page, `${name}-desk-dark`)

      // Some pages look at the window once, when they are opened: on a phone, filters are closed and a graph is a list.
      await page.setViewportSize(phone)
      await visit(page, path)
      expect.soft(await overflow(page), `overflow of ${name} on a phone`).toBeLessThanOrEqual(0)
      await picture(page, `${name}-phone`)
    })
  }
  expect(said).toEqual([])
})
