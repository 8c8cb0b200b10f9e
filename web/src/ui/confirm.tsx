import {
  Button,
  Form,
  FormGroup,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  ModalVariant,
  TextInput,
} from '@patternfly/react-core'
import { type ReactNode, useState } from 'react'
import { Refusal } from './refusal'

interface ConfirmProps {
  title: string
  /** What will be lost, or will happen. */
  children: ReactNode
  /** What the button says. */
  act: string
  /** A name that has to be typed, where what is lost does not come back. */
  type?: string
  run: () => Promise<unknown>
  close: () => void
}

/** Confirm asks before something that cannot be undone. */
export function Confirm({ title, children, act, type, run, close }: ConfirmProps) {
  const [typed, setTyped] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const go = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await run()
      close()
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <Modal variant={ModalVariant.small} isOpen onClose={close} aria-labelledby="confirm-title">
      <ModalHeader title={title} labelId="confirm-title" titleIconVariant="warning" />
      <ModalBody>
        {children}
        {type && (
          <Form onSubmit={(event) => event.preventDefault()}>
            <FormGroup label={`Type ${type} to go on`} fieldId="confirm-name">
              <TextInput
                id="confirm-name"
                value={typed}
                onChange={(_, value) => setTyped(value)}
                autoComplete="off"
                spellCheck="false"
              />
            </FormGroup>
          </Form>
        )}
        <Refusal error={error} />
      </ModalBody>
      <ModalFooter>
        <Button
          variant="danger"
          isDisabled={busy || (type !== undefined && typed !== type)}
          isLoading={busy}
          onClick={() => void go()}
        >
          {act}
        </Button>
        <Button variant="link" onClick={close}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  )
}
