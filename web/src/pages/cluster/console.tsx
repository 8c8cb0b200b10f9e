import { Modal, ModalBody, ModalHeader, ModalVariant, Spinner } from '@patternfly/react-core'
import { lazy, Suspense } from 'react'
import type { ContainerAddress } from '../../api/incluster'
import { readable } from '../../logic/foreign'

const Log = lazy(() => import('./log'))
const Terminal = lazy(() => import('./terminal'))

/** What is shown of a container. */
export type Shown = { what: 'log' | 'terminal'; of: ContainerAddress }

/** Console shows the log of a container, or a shell in it, as the user who is signed in. */
export function Console({ shown, close }: { shown: Shown; close: () => void }) {
  const { what, of } = shown
  const title = what === 'log' ? `Log of ${readable(of.pod)}` : `Shell in ${readable(of.pod)}`
  return (
    <Modal variant={ModalVariant.large} isOpen onClose={close} aria-labelledby="console-title">
      <ModalHeader
        title={title}
        labelId="console-title"
        description={`Container ${readable(of.container)}, namespace ${readable(of.namespace)}`}
      />
      <ModalBody>
        <Suspense fallback={<Spinner aria-label="Loading" />}>
          {what === 'log' ? <Log of={of} /> : <Terminal of={of} />}
        </Suspense>
      </ModalBody>
    </Modal>
  )
}
