import { expect, test } from 'vitest'
import type { AnyObject } from '../api/objects'
import { healthOf } from './health'

const object = (conditions: [type: string, status: string, observedGeneration?: number][], more?: Partial<AnyObject>) =>
  ({
    generation: 2,
    status: {
      conditions: conditions.map(([type, status, observedGeneration = 2]) => ({
        type,
        status,
        observedGeneration,
        message: `${type} is ${status}`,
      })),
    },
    ...more,
  }) as AnyObject

test('what sleeps does not fail', () => {
  const conditions = [{ type: 'Ready', status: 'False', reason: 'Asleep', message: 'it was idle' }]
  const asleep = { generation: 2, status: { conditions } } as unknown as AnyObject
  expect(healthOf(asleep)).toMatchObject({ health: 'asleep', text: 'Asleep', message: 'it was idle' })
})

test.each([
  ['no controller has seen it', object([]), 'progressing', undefined],
  ['it is ready', object([['Ready', 'True']]), 'ready', 'Ready is True'],
  ['it was changed since', object([['Ready', 'True', 1]]), 'progressing', 'Ready is True'],
  ['it is not ready', object([['Ready', 'False']]), 'failing', 'Ready is False'],
  [
    'it is worked on',
    object([
      ['Ready', 'False'],
      ['Reconciling', 'True'],
    ]),
    'progressing',
    'Ready is False',
  ],
  [
    'work is stalled',
    object([
      ['Ready', 'False'],
      ['Stalled', 'True'],
    ]),
    'failing',
    'Stalled is True',
  ],
  ['nobody knows', object([['Ready', 'Unknown']]), 'unknown', 'Ready is Unknown'],
  [
    'it is being deleted',
    object([['Ready', 'False']], { deletionRequestedAt: '2026-11-25T10:00:00Z' }),
    'deleting',
    'Ready is False',
  ],
])('%s', (_, of, health, message) => {
  expect(healthOf(of)).toMatchObject({ health, ...(message && { message }) })
})

test('that all was well before a deletion is not said of it', () => {
  const of = object([['Ready', 'True']], { deletionRequestedAt: '2026-11-25T10:00:00Z' })
  expect(healthOf(of).message).toBeUndefined()
})
