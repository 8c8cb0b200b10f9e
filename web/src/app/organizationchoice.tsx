import { MenuToggle, Select, SelectList, SelectOption } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { mayAdminister } from '../logic/roles'
import { organizationsQuery } from './catalogue'
import { useMe } from './queries'
import { useUrlState } from './urlstate'

/** OrganizationChoice narrows every page to one organization. The choice is in the URL, under org. */
export function OrganizationChoice() {
  const me = useMe()
  const [state, set] = useUrlState()
  const [open, setOpen] = useState(false)
  const all = useQuery({ ...organizationsQuery, enabled: open && mayAdminister(me).allowed })
  const organizations = [...new Set([...Object.keys(me.roles), ...(all.data?.items ?? []).map((o) => o.name)])].sort()
  if (state.org && !organizations.includes(state.org)) organizations.unshift(state.org)
  return (
    <Select
      isOpen={open}
      onOpenChange={setOpen}
      selected={state.org ?? ''}
      onSelect={(_, value) => {
        set({ org: value ? String(value) : undefined })
        setOpen(false)
      }}
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          onClick={() => setOpen(!open)}
          isExpanded={open}
          aria-label={`Organization: ${state.org ?? 'All organizations'}`}
        >
          {state.org ?? 'All organizations'}
        </MenuToggle>
      )}
      isScrollable
      popperProps={{ appendTo: 'inline' }} // in the landmark that its button is in
    >
      <SelectList aria-label="Organizations">
        <SelectOption value="">All organizations</SelectOption>
        {organizations.map((name) => (
          <SelectOption key={name} value={name} description={me.roles[name] && `your role: ${me.roles[name]}`}>
            {name}
          </SelectOption>
        ))}
      </SelectList>
    </Select>
  )
}
