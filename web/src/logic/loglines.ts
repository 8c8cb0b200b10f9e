import { visible } from './foreign'

/** The most that is kept of a line, in characters. */
const mostOfLine = 4000

// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is taken out
const controls = /\u001b\[[0-9;?]*[ -/]*[@-~]|[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g

/** printable takes control characters and terminal sequences out of a text of a log, and shows what else is unseen; line ends and tabs stay. */
export function printable(text: string): string {
  return visible(text.replaceAll('\r\n', '\n').replaceAll(controls, ''))
}

/** appendLines adds a text to lines, of which the last one may go on, and keeps the last ones, at most so many. It changes nothing it is given. */
export function appendLines(lines: string[], text: string, most: number): string[] {
  const [first = '', ...more] = text.split('\n')
  const last = (lines.at(-1) ?? '') + first
  return [...lines.slice(0, -1), last, ...more]
    .slice(-most)
    .map((line) => (line.length > mostOfLine ? `${line.slice(0, mostOfLine)}…` : line))
}
