import { writeFileSync } from 'node:fs'
import { type Browser, expect, type Locator, type Page, test } from '@playwright/test'
import { signIn } from './session'

// What the list of clusters takes in a browser where an organization has thousands: `go run ./bench -only portal` starts a server, fills it
// and prints what this leaves in the file BENCH_OUT, in milliseconds. Times are taken in the page, from the event of a key or of a click, or
// from the navigation, until what it asked for was painted.

test.skip(!process.env.BENCH_OUT, 'a benchmark')
test.use({ trace: 'off', actionTimeout: 120_000 })
test.setTimeout(1_200_000)

const rounds = Number(process.env.BENCH_ROUNDS ?? 40)
const [user, password] = [process.env.PORTAL_USER ?? '', process.env.PORTAL_PASSWORD ?? '']

/** What the portal took, and what it is compared with in the same run. */
interface Pair {
  portal: number[]
  bare: number[]
}
type Times = Record<string, Pair>

/** What addInitScript puts into each page. */
interface Watch {
  /** When the first rows, or that there are none, was painted. */
  first: Promise<number>
  /** What is shown. */
  rows: () => string[]
  /** How long it takes from the last key or click until other rows are painted, all with a text in their names. */
  changed: (text: string) => Promise<number>
  later?: Promise<number>
}
declare const kq: Watch

test('clusters', async ({ page, browser }) => {
  const times: Times = {}
  const add = (name: string, portal: number, bare: number) => {
    times[name] ??= { portal: [], bare: [] }
    times[name].portal.push(portal)
    times[name].bare.push(bare)
  }
  await page.addInitScript(watch)
  await signIn(page, user, password)
  for (const organization of ['default', 'empty']) {
    await page.goto(`/portal/clusters?org=${organization}`) // into the cache
    await page.evaluate(() => kq.first)
  }
  const asked = lastList(page)
  for (let n = 0; n < rounds; n++) {
    if (n % 2 === 0)
      add('first page, cold cache', await cold(browser, page, 'default'), await cold(browser, page, 'empty'))
    const empty = await load(page, 'empty')
    add('first page, warm cache', await load(page, 'default'), empty)

    const name = page.getByRole('textbox', { name: 'Name' })
    const labels = page.getByRole('textbox', { name: /^Labels/ })
    const measure = async (what: string, act: () => Promise<void>, text = '') => {
      await page.evaluate((holds) => {
        kq.later = kq.changed(holds)
      }, text)
      await act()
      const took = (await page.evaluate(() => kq.later)) ?? 0
      const rows = await page.evaluate(() => kq.rows())
      const bare = await call(page, asked())
      expect(rows, what).toEqual(bare.names)
      add(what, took, bare.took)
    }
    await measure('next page', click(page.getByRole('button', { name: 'Next page' })))
    await measure('sorted', click(page.getByRole('button', { name: 'Name', exact: true })))
    const part = String(20 + (n % 70)) // not in all names of the first page, which would stay as it is
    await name.focus()
    await measure('part of a name, typed', () => page.keyboard.type(part, { delay: 50 }), part)
    await page.getByRole('button', { name: /^Version/ }).click()
    await measure('version, chosen', click(page.getByRole('option', { name: /v1\.35\.0/ })))
    await labels.fill('env in (production, test)')
    await measure('labels, Enter', () => labels.press('Enter'))
    writeFileSync(process.env.BENCH_OUT ?? '', JSON.stringify(times))
  }
})

const click = (on: Locator) => () => on.click()

/** cold loads the list in a browser that has never been there, with the session of page. */
async function cold(browser: Browser, page: Page, organization: string): Promise<number> {
  const context = await browser.newContext({ storageState: await page.context().storageState() })
  const fresh = await context.newPage()
  await fresh.addInitScript(watch)
  const took = await load(fresh, organization, true)
  await context.close()
  return took
}

/** load opens the list of an organization. What is not asked for again has come from the cache. */
async function load(page: Page, organization: string, isCold = false): Promise<number> {
  await page.goto(`/portal/clusters?org=${organization}`)
  const took = await page.evaluate(() => kq.first)
  const sent = await page.evaluate(() =>
    (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
      .filter((one) => /assets.*js$/.test(one.name) && one.transferSize > 0)
      .map((one) => one.name),
  )
  expect(sent.length > 0, `transferred: ${sent}`).toBe(isCold)
  return took
}

/** lastList returns what says for which list of clusters the page has asked last. */
function lastList(page: Page): () => string {
  let url = ''
  page.on('request', (request) => {
    if (/\/clusters\?limit=/.test(request.url())) url = request.url()
  })
  return () => url
}

/** call asks for a list as a page can without the portal. */
function call(page: Page, url: string): Promise<{ took: number; names: string[] }> {
  return page.evaluate(async (at) => {
    const begin = performance.now()
    const list = (await (await fetch(at)).json()) as { items: { name: string }[] }
    return { took: performance.now() - begin, names: list.items.map((one) => one.name) }
  }, url)
}

/** watch runs in the page, before anything else does. */
function watch() {
  const longest = 30_000
  let begun = 0
  for (const kind of ['keydown', 'click']) {
    addEventListener(
      kind,
      (event) => {
        begun = event.timeStamp
      },
      { capture: true },
    )
  }
  const rows = () =>
    [...document.querySelectorAll('table[aria-label="Clusters"] td[data-label="Name"] a')].map(
      (a) => a.textContent ?? '',
    )
  // What was changed is painted with the next frame, and a timer comes behind that. Looking at each frame would have the browser draw all the time.
  const painted = (holds: () => boolean) =>
    new Promise<number>((resolve, reject) => {
      // Nothing else ends a wait for what is never shown.
      const late = setTimeout(() => reject(new Error(`not painted within ${longest} ms; shown are ${rows()}`)), longest)
      const look = () => {
        if (!holds()) return
        watching.disconnect()
        clearTimeout(late)
        requestAnimationFrame(() => setTimeout(() => resolve(performance.now())))
      }
      const watching = new MutationObserver(look)
      watching.observe(document, { childList: true, subtree: true, characterData: true })
      look()
    })
  Object.assign(window, {
    kq: {
      rows,
      first: painted(() => rows().length > 0 || document.querySelector('.pf-v6-c-empty-state') !== null),
      changed: async (text: string) => {
        const before = rows().join()
        const end = await painted(() => rows().join() !== before && rows().every((name) => name.includes(text)))
        return end - begun
      },
    } satisfies Watch,
  })
}
