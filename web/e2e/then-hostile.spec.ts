import { expect, type Page, type Route, test } from '@playwright/test'
import { desk, pages, phone, visit } from './pages'
import { overflow, signIn } from './session'

// Every page, while every text that a managed cluster can set is an attack: none of it runs, becomes an element or has the browser call
// another host, and the pages can be used and stay within the window.

/**
 * What is put behind each text: elements, codes of terminals, letters that turn the direction, and a word without a blank of 64 KiB. The
 * server cuts what it keeps of clusters, at 512 bytes and most of it earlier (internal/clusters/collector/clean.go), and no text of the store
 * is longer than 1 KiB (internal/clusters/inventory/clean.go): pages bear more than what can come.
 */
const attack = `<script>window.__xss=1</script><img src=x onerror="window.__xss=1">\u001b[31m\u001b]0;title\u0007\u202eright-to-left\u2066${'W'.repeat(64 << 10)}`

/** The fields that clusters set, in whichever answer. Names of organizations and clusters, times and words of the API are KQueen's own. */
const foreign = new Set(
  'message reason image version node pod namespace container phase workloadName reference repository tag digest part subject issuer source kernel kubeletVersion kubeProxyVersion os architecture runtime detail unmeasured endpoint resource isolationMessage'.split(
    ' ',
  ),
)
/** Answers about what is in clusters: names in them are theirs, and so are what names are made of. */
const within = /\/(inventory\/\w+|topology|usage)$/
const foreignWithin = new Set([...foreign, 'name', 'id', 'from', 'to', 'group', 'dnsNames', 'pressure', 'namespaces'])

// A trace of every step takes as long as the pages themselves, and what is wrong is said with the name of the page.
test.use({ trace: 'off' })

const softly = expect.configure({ soft: true, timeout: 5_000 })

test('every page, with hostile texts of clusters', async ({ page, baseURL }) => {
  const asked = new Set<string>()
  page.on('request', (request) => {
    if (/^(https?|wss?):/.test(request.url())) asked.add(new URL(request.url()).origin)
  })
  const said: string[] = []
  page.on('pageerror', (error) => said.push(`${page.url()}: ${error.message}`))
  page.on('console', (message) => {
    if (message.text().includes('Content Security Policy')) said.push(`${page.url()}: ${message.text()}`)
  })
  page.on('dialog', async (dialog) => {
    said.push(`${page.url()}: a dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  await signIn(page, process.env.PORTAL_USER ?? 'admin', process.env.PORTAL_PASSWORD ?? '')
  let poisoned = 0
  await page.route('**/api/v1/**', async (route) => {
    poisoned += await poison(route)
  })
  for (const [name, path] of Object.entries(pages)) {
    await test.step(name, async () => {
      await page.setViewportSize(desk)
      await visit(page, path)
      expect.soft(await planted(page), `what ran on ${name}`).toEqual([])
      expect.soft(await overflow(page), `overflow of ${name}`).toBeLessThanOrEqual(0)
      await page.setViewportSize(phone) // the page hears of it, and closes its navigation
      await softly.poll(() => overflow(page), `overflow of ${name} on a phone`).toBeLessThanOrEqual(0)
    })
  }
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  expect(said).toEqual([])
  expect([...asked]).toEqual([new URL(baseURL ?? '').origin])
  expect(poisoned, 'texts that were replaced').toBeGreaterThan(100)
})

/** poison answers what a page asks for with hostile texts and returns how many. A watch only says that something has changed. */
async function poison(route: Route): Promise<number> {
  const request = route.request()
  if (request.method() !== 'GET' || request.resourceType() === 'eventsource') {
    await route.continue()
    return 0
  }
  // The server takes the session from its own pages alone, and Chromium says that it is one only of what it sends itself.
  const response = await route.fetch({ headers: { ...request.headers(), 'sec-fetch-site': 'same-origin' } })
  if (!response.headers()['content-type']?.includes('json')) {
    await route.fulfill({ response })
    return 0
  }
  let count = 0
  const fields = within.test(new URL(request.url()).pathname) ? foreignWithin : foreign
  const spoil = (value: unknown, of: boolean): unknown => {
    if (typeof value === 'string') {
      if (!of) return value
      count++
      return value + attack
    }
    if (Array.isArray(value)) return value.map((one) => spoil(one, of))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) =>
        key === 'labels' ? [key, { ...one, [`hostile${attack}`]: attack }] : [key, spoil(one, fields.has(key))],
      ),
    )
  }
  await route.fulfill({ response, json: spoil(await response.json(), false) })
  return count
}

/** planted is what has become of the texts in a page but text. */
function planted(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found = [...document.querySelectorAll('script:not([src]), img[src="x"], [onerror]')].map((e) => e.outerHTML)
    if ('__xss' in window) found.push('a script ran')
    return found
  })
}
