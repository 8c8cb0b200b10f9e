import { describe, expect, it } from 'vitest'
import { enteredIn, type Field, formOf, shownIn, wordsOf } from './schemaform'

const property = (schema: unknown) => formOf({ type: 'object', properties: { one: schema } })[0] as Field

describe('formOf', () => {
  it.each([
    ['string', { type: 'string' }, 'string'],
    ['string or null', { type: ['string', 'null'] }, 'string'],
    ['integer', { type: 'integer' }, 'integer'],
    ['number', { type: 'number' }, 'number'],
    ['boolean', { type: 'boolean' }, 'boolean'],
    ['enumeration', { type: 'string', enum: ['a', 'b'] }, 'choice'],
    ['enumeration of objects', { enum: [{}] }, 'other'],
    ['strings', { type: 'array', items: { type: 'string' } }, 'strings'],
    ['numbers', { type: 'array', items: { type: 'number' } }, 'other'],
    ['object', { type: 'object', properties: { two: { type: 'string' } } }, 'group'],
    ['map', { type: 'object', additionalProperties: { type: 'string' } }, 'other'],
    ['string or number', { type: ['string', 'number'] }, 'other'],
    ['alternatives', { oneOf: [{ type: 'string' }] }, 'other'],
    ['reference', { $ref: '#/x' }, 'other'],
    ['anything', {}, 'other'],
    ['no schema', true, 'other'],
  ])('%s', (_, schema, kind) => expect(property(schema).kind).toBe(kind))

  it('tells titles, defaults, bounds and what is required', () => {
    const [size, zone] = formOf({
      properties: {
        size: { type: 'integer', title: 'Size', description: 'How big.', default: 3, minimum: 1, maximum: 9 },
        zone: { type: 'string' },
      },
      required: ['zone'],
    })
    expect(size).toEqual({
      kind: 'integer',
      path: ['size'],
      title: 'Size',
      about: 'How big.',
      required: false,
      preset: '3',
      minimum: 1,
      maximum: 9,
    })
    expect(zone).toMatchObject({ title: 'Zone', required: true })
  })

  it('has paths of objects within objects, and an end', () => {
    let schema: unknown = { type: 'string' }
    for (let i = 0; i < 20; i++) schema = { type: 'object', properties: { in: schema } }
    let field = formOf(schema)[0]
    const kinds: (string | undefined)[] = []
    for (; field; field = field.fields?.[0]) kinds.push(field.kind)
    expect(kinds).toEqual(['group', 'group', 'group', 'group', 'group', 'other'])
  })

  it.each([[undefined], [null], [3], [[]], [{}], [{ type: 'object', additionalProperties: false }]])(
    'has nothing of %j',
    (schema) => expect(formOf(schema)).toEqual([]),
  )
})

describe('values', () => {
  it.each([
    [{ type: 'string' }, 'x', 'x'],
    [{ type: 'string' }, '', undefined],
    [{ type: 'integer' }, '3', 3],
    [{ type: 'integer' }, 'three', 'three'],
    [{ type: 'boolean' }, 'true', true],
    [{ type: 'boolean' }, 'false', false],
    [{ enum: [1, 2] }, '2', 2],
    [{ enum: [1, 2] }, '', undefined],
    [{ type: 'array', items: { type: 'string' } }, 'a\nb', ['a', 'b']],
    [{ type: 'array', items: { type: 'string' } }, '\n', undefined],
  ])('%j %j', (schema, said, value) => {
    const field = property(schema)
    expect(enteredIn(field, said)).toEqual(value)
    if (value !== undefined) expect(shownIn(field, value)).toBe(said)
  })
})

it.each([
  ['dataStoreName', 'Data store name'],
  ['node-count', 'Node count'],
  ['zone', 'Zone'],
])('words of %s', (key, words) => expect(wordsOf(key)).toBe(words))
