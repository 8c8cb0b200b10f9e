import { Divider, Dropdown, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core'
import EllipsisVIcon from '@patternfly/react-icons/dist/esm/icons/ellipsis-v-icon'
import { useState } from 'react'
import { allowed, type Permission } from '../logic/roles'

export interface RowAction {
  name: string
  run: () => void
  permission?: Permission
  isDanger?: boolean
}

/** RowActions is the menu of a row. What a user may not do is there, with the reason. */
export function RowActions({ of, actions }: { of: string; actions: RowAction[] }) {
  const [open, setOpen] = useState(false)
  return (
    <div>
      <Dropdown
        isOpen={open}
        onOpenChange={setOpen}
        onSelect={() => setOpen(false)}
        popperProps={{ position: 'right', appendTo: () => document.getElementById('main') ?? document.body }}
        toggle={(ref) => (
          <MenuToggle
            ref={ref}
            variant="plain"
            onClick={() => setOpen(!open)}
            isExpanded={open}
            size="sm"
            aria-label={`Actions for ${of}`}
            icon={<EllipsisVIcon />}
          />
        )}
      >
        <DropdownList>
          {actions.flatMap((action) => [
            ...(action.isDanger && actions.length > 1 ? [<Divider key={`${action.name}-line`} component="li" />] : []),
            <Item key={action.name} action={action} />,
          ])}
        </DropdownList>
      </Dropdown>
    </div>
  )
}

function Item({ action }: { action: RowAction }) {
  const permission = action.permission ?? allowed
  return (
    <DropdownItem
      isDanger={action.isDanger && permission.allowed}
      isAriaDisabled={!permission.allowed}
      description={permission.why}
      onClick={permission.allowed ? action.run : undefined}
    >
      {action.name}
    </DropdownItem>
  )
}
