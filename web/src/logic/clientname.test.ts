import { expect, test } from 'vitest'
import { clientName } from './clientname'

test.each([
  ['curl/7.88.1', 'curl/7.88.1'],
  ['my laptop', 'my laptop'],
  [
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/156.0.0.0 Saf…',
    'Chrome on Linux',
  ],
  ['Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox on Windows'],
  ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) AppleWebKit/605 Version/17.0 Safari/605', 'Safari on macOS'],
  ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/150 Safari/537 Edg/150', 'Edge on Linux'],
  ['Mozilla/5.0', 'A browser'],
])('%s', (name, want) => {
  expect(clientName(name)).toBe(want)
})
