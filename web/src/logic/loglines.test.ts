import { expect, test } from 'vitest'
import { appendLines, printable } from './loglines'

test.each([
  ['colours', '\u001b[31mred\u001b[0m', 'red'],
  ['a title', '\u001b]0;owned\u0007text', ']0;ownedtext'],
  ['a carriage return', 'a\r\nb\rc', 'a\nbc'],
  ['tabs stay', 'a\tb', 'a\tb'],
  ['reversed text', 'a\u202eb\n', 'a⟨U+202E⟩b\n'],
])('printable: %s', (_, text, want) => {
  expect(printable(text)).toBe(want)
})

test('appendLines', () => {
  expect(appendLines(['a', 'b'], 'c\nd\n', 10)).toEqual(['a', 'bc', 'd', ''])
  expect(appendLines(['a', 'b', ''], 'c\n', 2)).toEqual(['c', ''])
  expect(appendLines([''], 'x'.repeat(5000), 3)[0]?.length).toBe(4001)
})
