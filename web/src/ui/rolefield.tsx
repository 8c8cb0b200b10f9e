import { roleTexts } from '../logic/members'
import { type Role, roles } from '../logic/roles'
import { ChoiceField } from './field'

interface RoleFieldProps {
  value: Role
  onChange: (role: Role) => void
  label?: string
}

/** RoleField chooses a role, and says what it may do. */
export function RoleField({ value, onChange, label = 'Role' }: RoleFieldProps) {
  return (
    <ChoiceField
      label={label}
      value={value}
      onChange={(role) => onChange(role as Role)}
      choices={roles.map((role) => ({ value: role, text: role }))}
      help={roleTexts[value]}
      required
    />
  )
}
