import { Tooltip } from '@patternfly/react-core'
import { type ReactNode, type RefObject, useEffect, useState } from 'react'
import { foreign } from './foreign'

/** How long one points at an element before more is said of it, in milliseconds. */
const pause = 300

/**
 * Hint says more of an element when one points at it or it has the focus. It puts nothing around the element, so that layouts stay. The tip is
 * not made before: lists have hundreds, and each listens to all keys and keeps its place up to date.
 */
export function Hint({ of, text }: { of: RefObject<HTMLElement | null>; text: ReactNode }) {
  const wanted = useWanted(of)
  if (!wanted) return null
  return <Tooltip triggerRef={of as RefObject<HTMLElement>} content={foreign(text, true)} isVisible entryDelay={0} />
}

/** useWanted says whether one has pointed at an element for a while, or gone to it, since it is there. */
function useWanted(of: RefObject<HTMLElement | null>): boolean {
  const [wanted, setWanted] = useState(false)
  useEffect(() => {
    const element = of.current
    if (!element || wanted) return
    let timer: ReturnType<typeof setTimeout>
    const come = () => {
      clearTimeout(timer)
      timer = setTimeout(() => setWanted(true), pause)
    }
    const go = () => clearTimeout(timer)
    for (const kind of ['mouseenter', 'focus']) element.addEventListener(kind, come)
    for (const kind of ['mouseleave', 'blur']) element.addEventListener(kind, go)
    return () => {
      go()
      for (const kind of ['mouseenter', 'focus']) element.removeEventListener(kind, come)
      for (const kind of ['mouseleave', 'blur']) element.removeEventListener(kind, go)
    }
  }, [of, wanted])
  return wanted
}
