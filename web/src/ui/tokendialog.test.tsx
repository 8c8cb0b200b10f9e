import { cleanup, fireEvent, render, screen } from '@testing-library/react'
import { afterEach, expect, test, vi } from 'vitest'
import type { Schemas } from '../api/client'
import { TokenDialog } from './tokendialog'

afterEach(cleanup)

test('a token is created and shown, and leaves only by the button', async () => {
  const create = vi.fn(async () => ({ name: 'deploy', token: 'kq_secret' }) as Schemas['Issued'])
  const close = vi.fn()
  render(
    <TokenDialog
      account="ci"
      about=""
      example="deploy"
      days={90}
      organization="blue"
      command={['kqueen serviceaccount token create ci', ' --org blue']}
      create={create}
      close={close}
    />,
  )
  fireEvent.change(screen.getByLabelText(/^Name/), { target: { value: ' deploy ' } })
  fireEvent.submit(document.querySelector('form') as HTMLFormElement)
  await screen.findByText('Token deploy of ci')
  expect(create).toHaveBeenCalledWith({ name: 'deploy', expiresAt: expect.any(String) })
  expect(document.body.textContent).toContain('kq_secret')
  expect(close).not.toHaveBeenCalled()
  fireEvent.click(screen.getByRole('button', { name: 'Done, I have copied it' }))
  expect(close).toHaveBeenCalledOnce()
})
