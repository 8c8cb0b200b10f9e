import {
  Checkbox,
  FormGroup,
  FormHelperText,
  FormSelect,
  FormSelectOption,
  HelperText,
  HelperTextItem,
  TextInput,
} from '@patternfly/react-core'
import { type ReactNode, useId } from 'react'
import { roleTexts } from '../../logic/members'
import { type Role, roles } from '../../logic/roles'

interface FieldProps {
  label: string
  value: string
  set: (value: string) => void
  help?: ReactNode
  /** What is wrong with the value. */
  error?: string
  required?: boolean
}

interface TextFieldProps extends FieldProps {
  type?: 'text' | 'password' | 'email'
  placeholder?: string
  autoComplete?: string
  maxLength?: number
}

/** TextField is a labeled input, with its help or what is wrong with it below. */
export function TextField({ type = 'text', placeholder, autoComplete = 'off', maxLength, ...field }: TextFieldProps) {
  const id = useId()
  return (
    <FormGroup label={field.label} fieldId={id} isRequired={field.required}>
      <TextInput
        id={id}
        type={type}
        value={field.value}
        onChange={(_, value) => field.set(value)}
        isRequired={field.required}
        validated={field.error ? 'error' : 'default'}
        placeholder={placeholder}
        autoComplete={autoComplete}
        spellCheck="false"
        maxLength={maxLength}
        aria-describedby={field.error || field.help ? `${id}-help` : undefined}
      />
      <Below id={`${id}-help`} help={field.help} error={field.error} />
    </FormGroup>
  )
}

interface ChoiceFieldProps extends FieldProps {
  options: { value: string; label: string }[]
}

/** ChoiceField is a labeled choice of one of a few. */
export function ChoiceField({ options, ...field }: ChoiceFieldProps) {
  const id = useId()
  return (
    <FormGroup label={field.label} fieldId={id} isRequired={field.required}>
      <FormSelect
        id={id}
        value={field.value}
        onChange={(_, value) => field.set(value)}
        aria-describedby={field.help ? `${id}-help` : undefined}
      >
        {options.map((option) => (
          <FormSelectOption key={option.value} value={option.value} label={option.label} />
        ))}
      </FormSelect>
      <Below id={`${id}-help`} help={field.help} error={field.error} />
    </FormGroup>
  )
}

/** RoleField chooses a role, and says what it may do. */
export function RoleField({ value, set, label = 'Role' }: { value: Role; set: (role: Role) => void; label?: string }) {
  const options = [...roles].map((role) => ({ value: role, label: role }))
  return (
    <ChoiceField
      label={label}
      value={value}
      set={(role) => set(role as Role)}
      options={options}
      help={roleTexts[value]}
      required
    />
  )
}

interface CheckFieldProps {
  label: string
  value: boolean
  set: (value: boolean) => void
  help?: ReactNode
}

export function CheckField({ label, value, set, help }: CheckFieldProps) {
  const id = useId()
  return <Checkbox id={id} label={label} isChecked={value} onChange={(_, is) => set(is)} description={help} />
}

function Below({ id, help, error }: { id: string; help?: ReactNode; error?: string }) {
  if (!help && !error) return null
  return (
    <FormHelperText>
      <HelperText id={id} isLiveRegion={!!error}>
        <HelperTextItem variant={error ? 'error' : 'default'}>{error ?? help}</HelperTextItem>
      </HelperText>
    </FormHelperText>
  )
}
