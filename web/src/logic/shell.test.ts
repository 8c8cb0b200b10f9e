import { expect, test } from 'vitest'
import { shellWord } from './shell'

test.each([
  ['user:corp:alice@example.com', 'user:corp:alice@example.com'],
  ['my laptop', "'my laptop'"],
  ["it's; rm", "'it'\\''s; rm'"],
  ['$HOME', "'$HOME'"],
  ['', "''"],
])('%s', (text, want) => {
  expect(shellWord(text)).toBe(want)
})
