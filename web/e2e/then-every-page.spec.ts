import { mkdirSync } from 'node:fs'
import { expect, test } from '@playwright/test'
import { pages } from './pages'
import { overflow, signIn, violations } from './session'

// Every page: axe finds nothing, light and dark; nothing overflows, also on a phone; and the console is silent. With SCREENSHOTS=folder
// it leaves pictures there: `make screenshots`.

const looks = [
  { name: 'desk', viewport: { width: 1440, height: 900 }, colorScheme: 'light' },
  { name: 'desk-dark', viewport: { width: 1440, height: 900 }, colorScheme: 'dark' },
  { name: 'phone', viewport: { width: 390, height: 844 }, colorScheme: 'light' },
] as const

for (const look of looks) {
  test(`every page, ${look.name}`, async ({ browser }) => {
    const context = await browser.newContext({
      viewport: look.viewport,
      colorScheme: look.colorScheme,
      ignoreHTTPSErrors: true,
    })
    const page = await context.newPage()
    const said: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') said.push(`${page.url()}: ${message.text()}`)
    })
    page.on('pageerror', (error) => said.push(`${page.url()}: ${error.message}`))
    await signIn(page, process.env.PORTAL_USER ?? 'admin', process.env.PORTAL_PASSWORD ?? '')
    for (const [name, path] of Object.entries(pages)) {
      await test.step(name, async () => {
        await page.goto(path)
        await expect(page.getByRole('heading', { level: 1 }).first()).toBeVisible()
        await expect(page.getByText('Loading', { exact: true })).toHaveCount(0)
        // What fades in is as faint as a disabled control until then.
        await page.waitForTimeout(300)
        if (look.name !== 'phone') expect.soft(await violations(page), `axe on ${name}`).toEqual([])
        expect.soft(await overflow(page), `overflow of ${name}`).toBeLessThanOrEqual(0)
        if (process.env.SCREENSHOTS) {
          mkdirSync(process.env.SCREENSHOTS, { recursive: true })
          await page.screenshot({ path: `${process.env.SCREENSHOTS}/${name}-${look.name}.png` })
        }
      })
    }
    expect(said).toEqual([])
    await context.close()
  })
}
