import { describe, expect, it } from 'vitest'
import type { Cluster } from '../api/objects'
import { documentOf, editableOf, inWords, textOf } from './document'

const cluster = { name: 'demo', revision: '7', labels: { team: 'red' }, spec: { version: 'v1.36.3' }, status: {} }

describe('documents', () => {
  it('go to text and back', () => {
    const editable = editableOf(cluster as unknown as Cluster)
    expect(editable).toEqual({ labels: { team: 'red' }, annotations: {}, spec: { version: 'v1.36.3' } })
    expect(documentOf(textOf(editable)).document).toEqual(editable)
  })
  it('have empty parts where they say nothing', () => {
    expect(documentOf('spec:\n  version: v1\nlabels:\n').document).toEqual({
      labels: {},
      annotations: {},
      spec: { version: 'v1' },
    })
    expect(documentOf('').document).toEqual({ labels: {}, annotations: {}, spec: {} })
  })
  it.each([
    ['spec: [', 'This is no YAML'],
    ['a: 1\na: 2', 'This is no YAML'],
    ['- spec', 'This has to be a map'],
    ['status: {}', 'status cannot be set here'],
    ['spec: 7', 'spec has to be a map.'],
    ['labels: [a]', 'labels has to be a map.'],
  ])('%j is refused', (text, fault) => {
    expect(documentOf(text).fault).toContain(fault)
  })
})

describe('inWords', () => {
  it.each([
    [undefined, 'not there'],
    ['v1', 'v1'],
    [2, '2'],
    [null, 'null'],
    [{ a: [1] }, 'a:\n  - 1'],
  ])('%j', (value, want) => {
    expect(inWords(value)).toBe(want)
  })
})
