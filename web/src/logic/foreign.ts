// What a managed cluster says is not to be trusted: names, messages and versions of it may be of any length, and may have characters that
// hide, reverse or overprint what stands beside them.

/** How many characters are shown of a text in a list, a title, a tooltip or a label. */
export const mostInList = 300
/** How many are shown of it where it is what one came for. */
export const mostInDetail = 4096

/** Controls, what formats without being seen (also what sets the direction of text), what is no character, and line ends that are none of HTML. */
const unseen = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u115f\u1160\u3164\uffa0]/u
/** Piles of marks cover the lines above and below. */
const piles = /\p{M}{5,}/gu
const clean = /^[\x20-\x7e]*$/

/**
 * readable is a text of a cluster as it can be shown: what would not be seen, or would change how others are seen, is replaced by a sign for it,
 * and what is longer than `most` is cut, with how much is left out. White space of any kind is a space, as in HTML.
 */
export function readable(text: string | undefined, most = mostInList): string {
  if (!text) return ''
  if (text.length <= most && clean.test(text)) return text
  let shown = ''
  let at = 0
  for (const letter of text) {
    const sign = signOf(letter)
    if (shown.length + sign.length > most) break
    shown += sign
    at += letter.length
  }
  shown = shown.replaceAll(piles, (pile) => `⟨${pile.length} marks⟩`)
  const left = text.length - at
  return left === 0 ? shown : `${shown}… and ${left.toLocaleString('en')} more character${left === 1 ? '' : 's'}`
}

/** visible replaces what is unseen in a text by signs for it; white space stays. */
export function visible(text: string): string {
  return text.replaceAll(unseenAll, (letter) => (white.has(letter) ? letter : signOf(letter)))
}

const unseenAll = new RegExp(unseen, 'gu')
const white = new Set(['\t', '\n', '\r'])

function signOf(letter: string): string {
  const code = letter.codePointAt(0) ?? 0
  if (white.has(letter)) return ' '
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return '␡'
  return unseen.test(letter) ? `⟨U+${code.toString(16).toUpperCase().padStart(4, '0')}⟩` : letter
}

/** readableIn is a value of JSON with all its texts made readable, its keys too. */
export function readableIn(value: unknown, most = mostInDetail): unknown {
  if (typeof value === 'string') return readable(value, most)
  if (Array.isArray(value)) return value.map((one) => readableIn(one, most))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [readable(key, most), readableIn(one, most)]))
}

/** How long a word is at most that a table keeps in one piece, in characters. */
const mostOfWord = 18

/**
 * wordOf is how wide a column has to be, in characters, so that words of a text stay in one piece; lines break at white space, - and /. Words
 * that are too long for that break anyway, and want no more than a little.
 */
export function wordOf(text: string): number {
  const words = text.split(/[\s/-]+/).map((word) => word.length + 1)
  return Math.max(...words.map((word) => (word > mostOfWord ? 8 : word)))
}

/** isName says whether a text can be the name of an object of Kubernetes: others are not asked for, nor put into commands. */
export function isName(text: string): boolean {
  return text.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(text)
}

/** fits says whether what is chosen is short enough for the URL of a link. */
export function fits(search: Record<string, string | undefined>): boolean {
  return Object.values(search).reduce((sum, value) => sum + (value?.length ?? 0), 0) <= 2000
}
