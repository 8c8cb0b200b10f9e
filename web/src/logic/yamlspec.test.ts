import { expect, test } from 'vitest'
import { fromYaml, toYaml } from './yamlspec'

test('toYaml', () => {
  expect(toYaml({ labels: {}, annotations: { a: 'b' }, spec: { size: 'small' } })).toBe(
    'annotations:\n  a: b\nspec:\n  size: small\n',
  )
})

test.each([
  ['', {}],
  ['spec:\n  size: small\n', { spec: { size: 'small' } }],
])('fromYaml(%s)', (text, want) => {
  expect(fromYaml(text, ['spec', 'labels'])).toEqual({ value: want })
})

test.each([
  ['- a', /keys with values/],
  ['just text', /keys with values/],
  ['a: [', /no YAML/],
  ['status: {}', /no key status/],
])('fromYaml(%s) says what is wrong', (text, want) => {
  expect(fromYaml(text, ['spec', 'labels']).error).toMatch(want)
})
