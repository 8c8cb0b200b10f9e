import { expect, test } from 'vitest'
import type { Provisioner } from '../api/objects'
import { driversOf, mayChange, ownerOf, parametersOf, templateOf } from './drivers'

const schema = {
  type: 'object',
  required: ['region'],
  properties: {
    size: { type: 'string', default: 'medium', enum: ['small', 'medium'], description: 'How much it\nmay take.' },
    region: { type: ['string', 'null'] },
    count: { type: 'integer', default: 3, title: 'Count' },
  },
}

test('parametersOf', () => {
  expect(parametersOf(schema)).toEqual([
    {
      name: 'size',
      type: 'string',
      about: 'How much it\nmay take.',
      choices: 'small, medium',
      initial: 'medium',
      required: false,
    },
    { name: 'region', type: 'string or null', about: '', choices: '', initial: '', required: true },
    { name: 'count', type: 'integer', about: 'Count', choices: '', initial: '3', required: false },
  ])
  expect(parametersOf(undefined)).toEqual([])
})

test('templateOf', () => {
  expect(templateOf(schema)).toBe(
    '# How much it may take. One of: small, medium.\n# size: medium\nregion:\n# Count\n# count: 3\n',
  )
  expect(templateOf({ type: 'object' })).toMatch(/no parameters/)
})

test('driversOf', () => {
  const p = (driver: string, summary?: string) =>
    ({ spec: { driver }, status: summary && { driver: { summary, parametersSchema: {} } } }) as unknown as Provisioner
  expect(driversOf([p('b', 'B'), p('a', 'A'), p('b', 'again'), p('unknown')]).map((d) => d.summary)).toEqual(['A', 'B'])
})

test('whose it is', () => {
  const owner = { allowed: true }
  expect(ownerOf({})).toBe('shared by the installation')
  expect(mayChange({}, owner).allowed).toBe(false)
  expect(mayChange({ organization: 'blue' }, owner).allowed).toBe(true)
})
