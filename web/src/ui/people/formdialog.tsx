import { Button, Form, Modal, ModalBody, ModalFooter, ModalHeader, type ModalProps } from '@patternfly/react-core'
import { type ReactNode, useId, useState } from 'react'
import { Refusal } from '../refusal'

interface FormDialogProps {
  title: string
  about?: ReactNode
  /** What the button says. */
  act: string
  /** The button does nothing until this is false. */
  isIncomplete?: boolean
  variant?: ModalProps['variant']
  run: () => Promise<unknown>
  close: () => void
  children: ReactNode
}

/** FormDialog asks for what something needs, does it, and stays open with the reason when it is refused. */
export function FormDialog({
  title,
  about,
  act,
  isIncomplete,
  variant = 'medium',
  run,
  close,
  children,
}: FormDialogProps) {
  const id = useId()
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
    <Modal variant={variant} isOpen onClose={close} aria-labelledby={`${id}-title`}>
      <ModalHeader title={title} labelId={`${id}-title`} description={about} />
      <ModalBody tabIndex={0} aria-label={title}>
        <Form
          id={id}
          onSubmit={(event) => {
            event.preventDefault()
            if (!busy && !isIncomplete) void go()
          }}
        >
          {children}
          <Refusal error={error} />
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button type="submit" form={id} isDisabled={busy || isIncomplete} isLoading={busy}>
          {act}
        </Button>
        <Button variant="link" onClick={close}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  )
}
