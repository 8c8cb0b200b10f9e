const plain = /^(?!=)[\w@%+=:,./-]+$/
/** Terminals act on controls before the shell sees the quotes around them; what has no look of its own misleads who reads the command. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** shellWord writes a text as one word of a shell command. Whatever is not a constant in a command goes through it. */
export function shellWord(text: string): string {
  if (plain.test(text)) return text
  if (text.search(unseen) < 0) return `'${text.replaceAll("'", `'\\''`)}'`
  return `$'${text.replaceAll(/[\\']/g, '\\$&').replaceAll(unseen, escaped)}'`
}

function escaped(letter: string): string {
  return `\\U${(letter.codePointAt(0) ?? 0).toString(16).padStart(8, '0')}`
}
