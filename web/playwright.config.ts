import { defineConfig } from '@playwright/test'

// A browser caches no answer whose certificate it does not trust. It trusts this key of the server, of which the benchmark of caches says the
// hash; other tests need no cache.
const key = process.env.KQUEEN_KEY

// The tests of packages start KQueen and say where it is: test/e2e/workers_portal_test.go.
export default defineConfig({
  testDir: 'e2e',
  outputDir: 'e2e/results',
  timeout: 480_000, // beside other tests; alone no test takes a fifth of it
  expect: { timeout: 30_000 },
  workers: 1,
  fullyParallel: false,
  reporter: [['list']],
  use: {
    baseURL: process.env.KQUEEN_SERVER,
    ignoreHTTPSErrors: !key,
    viewport: { width: 1440, height: 900 },
    actionTimeout: 20_000,
    trace: { mode: 'retain-on-failure', screenshots: false, snapshots: true }, // the snapshots show what pictures of every moment would, for less
    screenshot: 'only-on-failure',
    launchOptions: {
      // Chromium without windows, which takes three quarters of the processor time.
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium-headless-shell',
      args: [
        '--no-sandbox',
        '--disable-dev-shm-usage',
        ...(key ? [`--ignore-certificate-errors-spki-list=${key}`] : []),
      ],
    },
  },
})
