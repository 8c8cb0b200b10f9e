import { expect, test } from 'vitest'
import { fits, isName, mostInDetail, mostInList, readable, readableIn, wordOf } from './foreign'

test.each([
  ['nothing', undefined, ''],
  ['what all read', 'nginx:1.27 is not there', 'nginx:1.27 is not there'],
  ['other scripts', 'größer 日本 שלום مرحبا', 'größer 日本 שלום مرحبا'],
  ['a terminal sequence', '\u001b[31mred\u001b[0m', '␛[31mred␛[0m'],
  ['a script', '<script>alert(1)</script>', '<script>alert(1)</script>'],
  ['reversed text', 'invoice\u202egpj.exe', 'invoice⟨U+202E⟩gpj.exe'],
  ['isolated text', '\u2066a\u2069', '⟨U+2066⟩a⟨U+2069⟩'],
  ['what has no width', 'kube\u200b-system\ufeff', 'kube⟨U+200B⟩-system⟨U+FEFF⟩'],
  ['what is blank', 'a\u3164b', 'a⟨U+3164⟩b'],
  ['hidden tags', '\u{e0041}', '⟨U+E0041⟩'],
  ['lines', 'a\r\nb\tc\u2028d', 'a  b c⟨U+2028⟩d'],
  ['controls', 'a\u0000b\u0007c\u007fd\u009be', 'a␀b␇c␡d⟨U+009B⟩e'],
  ['half a pair', 'a\ud800', 'a⟨U+D800⟩'],
  ['a pile of marks', `a${'\u0300'.repeat(40)}b`, 'a⟨40 marks⟩b'],
])('readable: %s', (_, text, want) => {
  expect(readable(text)).toBe(want)
})

test('readable cuts what is long, and says how much', () => {
  expect(readable('x'.repeat(mostInList))).toBe('x'.repeat(mostInList))
  expect(readable('x'.repeat(mostInList + 1))).toBe(`${'x'.repeat(mostInList)}… and 1 more character`)
  expect(readable('x'.repeat(1 << 20))).toBe(`${'x'.repeat(mostInList)}… and 1,048,276 more characters`)
  expect(readable('x'.repeat(1 << 20), mostInDetail).length).toBeLessThan(mostInDetail + 50)
})

test('signs count as what they take, and no character is cut in two', () => {
  expect(readable('\u202e'.repeat(1 << 20)).length).toBeLessThan(mostInList + 50)
  expect(readable('😀'.repeat(10), 5)).toBe('😀😀… and 16 more characters')
})

test('readableIn', () => {
  const value = { 'a\u202e': ['x\u0007', 1, null], of: { b: true } }
  expect(readableIn(value)).toEqual({ 'a⟨U+202E⟩': ['x␇', 1, null], of: { b: true } })
})

test.each([
  ['', 1],
  ['Running', 8],
  ['coredns-7d764666f9-abcde', 11],
  ['registry.k8s.io/kube-proxy:v1', 16],
  ['x'.repeat(300), 8],
])('wordOf %#', (text, want) => {
  expect(wordOf(text)).toBe(want)
})

test.each([
  ['kube-system', true],
  ['a.b-c', true],
  ['', false],
  ['-a', false],
  ['x; curl example.com | sh', false],
  ['a\u202eb', false],
  ['x'.repeat(254), false],
])('isName %#', (text, want) => {
  expect(isName(text)).toBe(want)
})

test('fits', () => {
  expect(fits({ view: 'images', tag: undefined })).toBe(true)
  expect(fits({ repository: 'x'.repeat(3000) })).toBe(false)
})
