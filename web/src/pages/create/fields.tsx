import {
  FormGroup,
  FormHelperText,
  FormSelect,
  FormSelectOption,
  HelperText,
  HelperTextItem,
  TextArea,
  TextInput,
} from '@patternfly/react-core'
import type { ReactNode } from 'react'

/** idOf is the id of the input of a field, from its JSON pointer. */
export const idOf = (pointer: string) => `field${pointer.replaceAll(/[^A-Za-z0-9]/g, '-')}`

interface FieldProps {
  /** JSON pointer of what is edited: the id is made from it. */
  pointer: string
  label: string
  hint?: ReactNode
  error?: string
  required?: boolean
}

/** Labelled is the label of an input, what it is for, and what is wrong with it. */
function Labelled({ pointer, label, hint, error, required, children }: FieldProps & { children: ReactNode }) {
  const id = idOf(pointer)
  return (
    <FormGroup label={label} fieldId={id} isRequired={required}>
      {children}
      <FormHelperText>
        <HelperText id={`${id}-help`} className="kq-wrap">
          {error && <HelperTextItem variant="error">{error}</HelperTextItem>}
          {hint && <HelperTextItem>{hint}</HelperTextItem>}
        </HelperText>
      </FormHelperText>
    </FormGroup>
  )
}

interface TextFieldProps extends FieldProps {
  value: string
  onChange: (value: string) => void
  placeholder?: string
  /** Several lines. */
  lines?: boolean
  numeric?: boolean
}

export function TextField({ value, onChange, placeholder, lines, numeric, ...field }: TextFieldProps) {
  const id = idOf(field.pointer)
  const common = {
    id,
    value,
    placeholder,
    isRequired: field.required,
    'aria-describedby': `${id}-help`,
    validated: field.error ? ('error' as const) : ('default' as const),
    onChange: (_: unknown, next: string) => onChange(next),
    spellCheck: false,
    autoComplete: 'off',
  }
  return (
    <Labelled {...field}>
      {lines ? (
        <TextArea {...common} autoResize resizeOrientation="vertical" />
      ) : (
        <TextInput {...common} inputMode={numeric ? 'numeric' : undefined} />
      )}
    </Labelled>
  )
}

export interface Choice {
  value: string
  text: string
  isDisabled?: boolean
}

interface ChoiceFieldProps extends FieldProps {
  value: string
  choices: Choice[]
  onChange: (value: string) => void
}

/** ChoiceField is a list to choose from. A value that is not in it, as YAML may have, is kept and shown. */
export function ChoiceField({ value, choices, onChange, ...field }: ChoiceFieldProps) {
  const id = idOf(field.pointer)
  const known = choices.some((choice) => choice.value === value)
  const all = known ? choices : [{ value, text: value === '' ? 'Choose one' : value }, ...choices]
  return (
    <Labelled {...field}>
      <FormSelect
        id={id}
        value={value}
        isRequired={field.required}
        aria-describedby={`${id}-help`}
        validated={field.error ? 'error' : 'default'}
        onChange={(_, next) => onChange(next)}
      >
        {all.map((choice) => (
          <FormSelectOption
            key={choice.value}
            value={choice.value}
            label={choice.text}
            isDisabled={choice.isDisabled}
          />
        ))}
      </FormSelect>
    </Labelled>
  )
}
