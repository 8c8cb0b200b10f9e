import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { cliOf } from '../pages/organizations/cli'
import { shellWord } from './shell'

const hostile = "x'; touch $(id) `id` && rm -rf ~ #"

test.each([
  ['user:corp:alice@example.com', 'user:corp:alice@example.com'],
  ['my laptop', "'my laptop'"],
  ["it's; rm", "'it'\\''s; rm'"],
  ['$HOME', "'$HOME'"],
  ['=ls', "'=ls'"],
  ['', "''"],
  ["a\u0003'\\b\u202e", "$'a\\U00000003\\'\\\\b\\U0000202e'"],
])('%s', (text, want) => {
  expect(shellWord(text)).toBe(want)
})

test.each(['plain', hostile, "a\nb\\n'c\u0003", '\\', '-n'])('a shell reads %j as one word', (text) => {
  const words = execFileSync('bash', ['-c', `printf '%s|' ${shellWord(text)}`], { encoding: 'utf8' })
  expect(words).toBe(`${text}|`)
})

test.each(['members', 'quota', 'accounts', 'settings', 'activity'])('a name from a link stays a word in %s', (tab) => {
  for (const account of [undefined, hostile]) {
    const commands = cliOf(hostile, tab, account).lines.map((line) => line.command)
    for (const command of commands) expect(command.replaceAll(shellWord(hostile), '')).not.toContain('touch')
  }
})

/** What stands in commands of the pages without being quoted: words that are quoted where they are made, and constants. */
const made =
  /^(shellWord\(.*|flags|rest|scope|selector|where|of|org|inOrg|file|settings|role|access|lifetime\.flag|location\.origin|issued\.token|begin|organization\.join\(' '\)|quotaFlags\(before, form\)\.join\(' '\)|toYaml\(draft\)|(\w+(\.\w+)?) \? .*)$/
const sources = import.meta.glob<string>(['../**/*.ts', '../**/*.tsx', '!../**/*.test.*', '!../api/types.ts'], {
  query: '?raw',
  import: 'default',
  eager: true,
})

test.each(Object.entries(sources).filter(([, text]) => text.includes('kqueen ')))(
  '%s quotes what it is given',
  (_, text) => {
    const unquoted: string[] = []
    for (const line of text.split('\n')) {
      if (!/kqueen [a-z]/.test(line) && !line.includes('--org ${')) continue
      for (const [, value] of line.matchAll(/\$\{((?:[^{}]|\{[^{}]*\})*)\}/g))
        if (!made.test(value ?? '')) unquoted.push(line.trim())
    }
    expect(unquoted).toEqual([])
    // These names are of URLs: no command has them as they are.
    expect(text).not.toMatch(/--(org|cluster|pool|backup|object) \$\{(?!shellWord\(|flags\})/)
  },
)
