import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import { FormDialog } from './formdialog'

afterEach(cleanup)

const button = (name: string) => screen.getByRole('button', { name }) as HTMLButtonElement
const form = () => document.querySelector('form') as HTMLFormElement

test('it does what it says and closes', async () => {
  const run = vi.fn(async () => undefined)
  const close = vi.fn()
  render(<FormDialog title="Enable it?" act="Enable" run={run} close={close} />)
  fireEvent.submit(form())
  await waitFor(() => expect(close).toHaveBeenCalledOnce())
  expect(run).toHaveBeenCalledWith(false)
})

test('it stays open with the reason when it is refused', async () => {
  const close = vi.fn()
  const run = async () => Promise.reject(new Error('there is one of that name'))
  render(<FormDialog title="Create it" act="Create" run={run} close={close} />)
  fireEvent.click(button('Create'))
  fireEvent.submit(form())
  await screen.findByText('there is one of that name')
  expect(close).not.toHaveBeenCalled()
  expect(button('Create').disabled).toBe(false)
})

test('what is lost for good wants its name, and the button', async () => {
  const run = vi.fn(async () => undefined)
  render(<FormDialog isDanger typed="demo" title="Delete demo?" act="Delete" run={run} close={() => {}} />)
  expect(button('Delete').disabled).toBe(true)
  fireEvent.change(screen.getByLabelText('Type demo to go on'), { target: { value: 'demo' } })
  fireEvent.submit(form())
  expect(run).not.toHaveBeenCalled()
  fireEvent.click(button('Delete'))
  await waitFor(() => expect(run).toHaveBeenCalledOnce())
})

test('a check says what would be, for what was chosen then', async () => {
  const run = vi.fn(async () => 'It would have 2 nodes.')
  const close = vi.fn()
  const dialog = (of: string) => <FormDialog title="Scale" act="Scale" check={{ of }} run={run} close={close} />
  const { rerender } = render(dialog('2'))
  fireEvent.click(button('Check only'))
  await screen.findByText('It would have 2 nodes.')
  expect(run).toHaveBeenCalledWith(true)
  expect(close).not.toHaveBeenCalled()
  rerender(dialog('3'))
  expect(screen.queryByText('It would have 2 nodes.')).toBeNull()
})

test('each choice is checked at once where that is asked for', async () => {
  const run = vi.fn(async () => 'fine')
  const dialog = (of: string) => (
    <FormDialog title="Upgrade" act="Upgrade" check={{ of, atOnce: true }} run={run} close={() => {}} />
  )
  const { rerender } = render(dialog('v1'))
  rerender(dialog('v2'))
  await waitFor(() => expect(run).toHaveBeenCalledTimes(2))
})
