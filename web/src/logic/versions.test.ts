import { expect, it } from 'vitest'
import { newestFirst } from './versions'

it.each([
  [[], []],
  [
    ['v1.36.9', 'v1.36.10', 'v1.37.0', 'v1.9.1'],
    ['v1.37.0', 'v1.36.10', 'v1.36.9', 'v1.9.1'],
  ],
])('%j', (versions, ordered) => expect(newestFirst(versions)).toEqual(ordered))
