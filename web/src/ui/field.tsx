import {
  Checkbox,
  FormGroup,
  FormHelperText,
  FormSelect,
  FormSelectOption,
  HelperText,
  HelperTextItem,
  TextArea,
  TextInput,
} from '@patternfly/react-core'
import { type ReactNode, useId } from 'react'

/** idOf is the id of the input of a field that edits what a JSON pointer names. */
export const idOf = (pointer: string) => `field${pointer.replaceAll(/[^A-Za-z0-9]/g, '-')}`

interface Labels {
  label: string
  help?: ReactNode
  /** What is wrong with the value. */
  error?: string
  required?: boolean
}

/** Field is the label of an input of any kind, with what is wrong with it and its help below. The input has the id, and `helpOf` it says where its help is. */
export function Field({ id, label, help, error, required, children }: Labels & { id: string; children: ReactNode }) {
  return (
    <FormGroup label={label} fieldId={id} isRequired={required}>
      {children}
      {(error || help) && (
        <FormHelperText>
          <HelperText id={helpOf(id)} isLiveRegion={!!error} className="kq-wrap">
            {error && <HelperTextItem variant="error">{error}</HelperTextItem>}
            {help && <HelperTextItem>{help}</HelperTextItem>}
          </HelperText>
        </FormHelperText>
      )}
    </FormGroup>
  )
}

const helpOf = (id: string) => `${id}-help`

interface FieldProps extends Labels {
  value: string
  onChange: (value: string) => void
  /** JSON pointer of what is edited, by which a page finds the input again. */
  pointer?: string
}

/** What every input has of its field. */
function useShared({ pointer, value, error, help, required }: FieldProps) {
  const own = useId()
  const id = pointer === undefined ? own : idOf(pointer)
  return {
    id,
    value,
    isRequired: required,
    validated: error ? ('error' as const) : ('default' as const),
    'aria-describedby': error || help ? helpOf(id) : undefined,
  }
}

interface TextFieldProps extends FieldProps {
  type?: 'text' | 'password' | 'email'
  placeholder?: string
  autoComplete?: string
  maxLength?: number
  numeric?: boolean
  /** Several lines. */
  lines?: boolean
}

/** TextField is a labeled input of a text. */
export function TextField(props: TextFieldProps) {
  const { type = 'text', placeholder, autoComplete = 'off', maxLength, numeric, lines, ...field } = props
  const shared = useShared(field)
  const typed = { ...shared, placeholder, autoComplete, maxLength, spellCheck: false }
  return (
    <Field {...field} id={shared.id}>
      {lines ? (
        <TextArea {...typed} onChange={(_, to) => field.onChange(to)} autoResize resizeOrientation="vertical" />
      ) : (
        <TextInput
          {...typed}
          type={type}
          inputMode={numeric ? 'numeric' : undefined}
          onChange={(_, to) => field.onChange(to)}
        />
      )}
    </Field>
  )
}

export interface Choice {
  value: string
  text: string
  isDisabled?: boolean
}

/** ChoiceField is a labeled choice of one of a few. A value that is none of them, as YAML may have, is kept and shown. */
export function ChoiceField({ choices, ...field }: FieldProps & { choices: Choice[] }) {
  const shared = useShared(field)
  const { value } = field
  const known = choices.some((choice) => choice.value === value)
  const all = known ? choices : [{ value, text: value === '' ? 'Choose one' : value }, ...choices]
  return (
    <Field {...field} id={shared.id}>
      <FormSelect {...shared} onChange={(_, to) => field.onChange(to)}>
        {all.map(({ value: of, text, isDisabled }: Choice) => (
          <FormSelectOption key={of} value={of} label={text} isDisabled={isDisabled} />
        ))}
      </FormSelect>
    </Field>
  )
}

interface CheckFieldProps {
  label: string
  value: boolean
  onChange: (value: boolean) => void
  help?: ReactNode
}

export function CheckField({ label, value, onChange, help }: CheckFieldProps) {
  return <Checkbox id={useId()} label={label} isChecked={value} onChange={(_, is) => onChange(is)} description={help} />
}
