import { Tooltip } from '@patternfly/react-core'
import type { ReactNode, RefObject } from 'react'
import { foreign } from './foreign'

/** Hint says more of an element when one points at it or it has the focus. It puts nothing around the element, so that layouts stay. */
export function Hint({ of, text }: { of: RefObject<HTMLElement | null>; text: ReactNode }) {
  return <Tooltip triggerRef={of as RefObject<HTMLElement>} content={foreign(text, true)} />
}
