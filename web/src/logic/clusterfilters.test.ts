import { describe, expect, it } from 'vitest'
import { chipsOf, type Filter, filters, isFiltered, queryOf, requirementsOf, withoutFilters } from './clusterfilters'

const filter = (key: string) => filters.find((one) => one.key === key) as Filter

it.each<[Record<string, string>, Record<string, string>]>([
  [{}, {}],
  [{ org: 'default', sort: 'name', cursor: 'x' }, {}],
  [
    { name: ' shop ', ready: 'false', labels: 'a=b' },
    { name: 'shop', ready: 'false', labelSelector: 'a=b' },
  ],
  [{ name: ' ' }, {}],
])('query of %j', (search, query) => expect(queryOf(search)).toEqual(query))

it.each([
  [undefined, []],
  ['', []],
  ['a=b', ['a=b']],
  ['a=b, c', ['a=b', 'c']],
  ['a in (b, c),!d', ['a in (b, c)', '!d']],
  ['a),b', ['a)', 'b']],
])('requirements of %j', (selector, parts) => expect(requirementsOf(selector)).toEqual(parts))

describe('chips', () => {
  it.each<[string, string | undefined, ReturnType<typeof chipsOf>]>([
    ['name', undefined, []],
    ['name', 'shop', [{ text: 'shop' }]],
    ['ready', 'false', [{ text: 'Not ready' }]],
    [
      'labels',
      'a=b,c=d',
      [
        { text: 'a=b', without: 'c=d' },
        { text: 'c=d', without: 'a=b' },
      ],
    ],
    ['labels', 'a=b', [{ text: 'a=b', without: undefined }]],
  ])('of %s %j', (key, value, chips) => expect(chipsOf(filter(key), value)).toEqual(chips))
})

it('knows whether there are filters', () => {
  expect(isFiltered({ org: 'default' })).toBe(false)
  expect(isFiltered({ labels: 'a' })).toBe(true)
  expect(isFiltered(withoutFilters())).toBe(false)
})
