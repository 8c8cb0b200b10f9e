import { Alert, AlertActionCloseButton, AlertGroup } from '@patternfly/react-core'
import { createContext, type ReactNode, useCallback, useContext, useState } from 'react'
import { readable } from '../logic/foreign'
import { foreign } from './foreign'

interface Toast {
  id: number
  title: string
  variant: 'success' | 'danger' | 'info'
  children?: ReactNode
}

type Tell = (title: string, variant?: Toast['variant'], children?: ReactNode) => void

const Toasts = createContext<Tell>(() => {})

/** useTell shows a short message that goes by itself; failures stay until they are closed. */
export const useTell = () => useContext(Toasts)

export function ToastProvider({ children }: { children: ReactNode }) {
  const [toasts, setToasts] = useState<Toast[]>([])
  const close = useCallback((id: number) => setToasts((all) => all.filter((toast) => toast.id !== id)), [])
  const tell = useCallback<Tell>(
    (title, variant = 'success', body) =>
      setToasts((all) => [...all.slice(-4), { id: Date.now() + Math.random(), title, variant, children: body }]),
    [],
  )
  return (
    <Toasts.Provider value={tell}>
      {children}
      <AlertGroup isToast isLiveRegion>
        {toasts.map((toast) => (
          <Alert
            key={toast.id}
            component="p"
            variant={toast.variant}
            title={readable(toast.title)}
            timeout={toast.variant !== 'danger'}
            onTimeout={() => close(toast.id)}
            actionClose={<AlertActionCloseButton onClose={() => close(toast.id)} />}
          >
            {foreign(toast.children, true)}
          </Alert>
        ))}
      </AlertGroup>
    </Toasts.Provider>
  )
}
