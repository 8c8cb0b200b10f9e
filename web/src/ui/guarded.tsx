import { Button, type ButtonProps, Tooltip } from '@patternfly/react-core'
import type { Permission } from '../logic/roles'

/** Guarded is a button that a user who may not use it sees, disabled, with the reason. */
export function Guarded({ permission, ...props }: ButtonProps & { permission: Permission }) {
  if (permission.allowed) return <Button {...props} />
  return (
    <Tooltip content={permission.why}>
      <Button {...props} isAriaDisabled onClick={undefined} />
    </Tooltip>
  )
}
