import { Button, type ButtonProps } from '@patternfly/react-core'
import { useRef } from 'react'
import type { Permission } from '../logic/roles'
import { Hint } from './hint'

/** Guarded is a button that a user who may not use it sees, disabled, with the reason. */
export function Guarded({ permission, ...props }: ButtonProps & { permission: Permission }) {
  const at = useRef<HTMLButtonElement>(null)
  if (permission.allowed) return <Button {...props} />
  return (
    <>
      <Button {...props} ref={at} isAriaDisabled onClick={undefined} />
      <Hint of={at} text={permission.why} />
    </>
  )
}
