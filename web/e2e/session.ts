import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { expect, type Page } from '@playwright/test'

/** signIn signs a user of this installation in, who comes to the portal. */
export async function signIn(page: Page, name: string, password: string) {
  await page.goto('/signin')
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await expect(page.getByRole('heading', { name: 'Overview' })).toBeVisible()
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  help: string
  nodes: { html: string; failureSummary: string }[]
}

/** violations are what axe finds on a page, in words, by all of its rules or some. */
export async function violations(page: Page, rules?: string[]): Promise<string[]> {
  await page.evaluate(axe)
  const found = await page.evaluate((runOnly) => {
    const { axe } = window as unknown as { axe: { run: (options: unknown) => Promise<{ violations: Violation[] }> } }
    return axe.run({ resultTypes: ['violations'], runOnly })
  }, rules)
  return found.violations.map(
    (v) => `${v.id}: ${v.help}\n  ${v.nodes.map((n) => `${n.html}\n  ${n.failureSummary}`).join('\n  ')}`,
  )
}

/** overflow is by how many pixels a page is wider than the window. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
}

/** settled waits until nothing moves: what fades in is as faint as a disabled control until then. What turns without an end may turn. */
export async function settled(page: Page) {
  await page.evaluate(async () => {
    const ends = document
      .getAnimations()
      .filter((a) => a.effect?.getComputedTiming().endTime !== Number.POSITIVE_INFINITY)
    await Promise.allSettled(ends.map((a) => a.finished)) // one that is cancelled has ended, too
  })
}
