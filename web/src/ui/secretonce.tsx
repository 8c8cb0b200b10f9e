import { Alert, Button, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core'
import { type ReactNode, useId } from 'react'
import { Copied } from './fromcli'

export interface Shown {
  about: ReactNode
  text: string
}

/** SecretOnce shows what the server does not tell again. It closes by its button alone: a key pressed by chance must not lose it. */
export function SecretOnce({ title, shown, close }: { title: string; shown: Shown[]; close: () => void }) {
  const id = useId()
  return (
    <Modal variant="medium" isOpen onEscapePress={() => undefined} aria-labelledby={id}>
      <ModalHeader title={title} labelId={id} />
      <ModalBody tabIndex={0} aria-label={title}>
        <Alert component="p" isInline variant="warning" title="This is shown once">
          Copy it now and keep it in private. KQueen stores no copy that can be read.
        </Alert>
        <br />
        {shown.map((item) => (
          <div key={item.text}>
            <p>{item.about}</p>
            <div className="kq-scroll">
              <Copied text={item.text} />
            </div>
            <br />
          </div>
        ))}
      </ModalBody>
      <ModalFooter>
        <Button onClick={close}>Done, I have copied it</Button>
      </ModalFooter>
    </Modal>
  )
}
