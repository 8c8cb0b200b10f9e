import { Button, ExpandableSection, FormSelect, FormSelectOption, TextInput } from '@patternfly/react-core'
import { useEffect, useState } from 'react'
import { useUrlState } from '../../app/urlstate'
import { auditFilters, outcomes } from '../../logic/auditquery'
import { fromLocalInput, localInput } from '../../logic/timeslider'

/** How long a user has to stop typing before it is asked, in milliseconds. */
const rest = 500
const narrow = '(max-width: 48rem)'
const names = Object.keys(auditFilters) as (keyof typeof auditFilters)[]
const all = [...names, 'outcome', 'since', 'until']

const ages: [string, number][] = [
  ['Last hour', 1],
  ['24 hours', 24],
  ['7 days', 168],
  ['30 days', 720],
]

export function AuditFilters() {
  const [search, set] = useUrlState()
  const sinceHours = (hours: number) =>
    set({ since: new Date(Date.now() - hours * 3600_000).toISOString(), until: undefined })
  const used = all.filter((name) => search[name]).length
  const [open, setOpen] = useState(() => used > 0 || !matchMedia(narrow).matches)
  return (
    <ExpandableSection
      toggleText={used > 0 ? `Filters (${used})` : 'Filters'}
      isExpanded={open}
      onToggle={(_, is) => setOpen(is)}
    >
      <div className="kq-audit-filters">
        {names.map((name) => (
          <Typed
            key={name}
            id={`audit-${name}`}
            label={auditFilters[name].label}
            hint={auditFilters[name].hint}
            value={search[name] ?? ''}
            set={(value) => set({ [name]: value || undefined })}
          />
        ))}
        <div>
          <label htmlFor="audit-outcome">Outcome</label>
          <FormSelect
            id="audit-outcome"
            value={search.outcome ?? ''}
            onChange={(_, value) => set({ outcome: value || undefined })}
          >
            <FormSelectOption value="" label="any" />
            {outcomes.map((one) => (
              <FormSelectOption key={one} value={one} label={one} />
            ))}
          </FormSelect>
        </div>
        {(['since', 'until'] as const).map((name) => (
          <When
            key={name}
            id={`audit-${name}`}
            label={name === 'since' ? 'Since' : 'Until'}
            value={search[name]}
            set={(value) => set({ [name]: value })}
          />
        ))}
      </div>
      {ages.map(([text, hours]) => (
        <Button key={text} variant="link" size="sm" onClick={() => sinceHours(hours)}>
          {text}
        </Button>
      ))}
      {used > 0 && (
        <Button variant="link" size="sm" onClick={() => set(Object.fromEntries(all.map((name) => [name, undefined])))}>
          Clear all filters
        </Button>
      )}
    </ExpandableSection>
  )
}

interface TypedProps {
  id: string
  label: string
  hint: string
  value: string
  set: (value: string) => void
}

function Typed({ id, label, hint, value, set }: TypedProps) {
  const [typed, setTyped] = useState<string>()
  useEffect(() => {
    if (typed === undefined) return
    const timer = setTimeout(() => {
      setTyped(undefined)
      if (typed !== value) set(typed)
    }, rest)
    return () => clearTimeout(timer)
  })
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <TextInput
        id={id}
        type="search"
        value={typed ?? value}
        placeholder={hint}
        autoComplete="off"
        spellCheck="false"
        onChange={(_, text) => setTyped(text)}
      />
    </div>
  )
}

interface WhenProps {
  id: string
  label: string
  value?: string
  set: (value: string | undefined) => void
}

function When({ id, label, value, set }: WhenProps) {
  const at = value ? new Date(value) : undefined
  const shown = at && !Number.isNaN(at.getTime()) ? localInput(at) : ''
  const [typed, setTyped] = useState<string>()
  const done = () => {
    setTyped(undefined)
    if (typed === undefined || typed === shown) return
    const next = fromLocalInput(typed)
    if (next || typed === '') set(next?.toISOString())
  }
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <TextInput
        id={id}
        type="datetime-local"
        value={typed ?? shown}
        onChange={(_, text) => setTyped(text)}
        onBlur={done}
        onKeyDown={(event) => event.key === 'Enter' && done()}
      />
    </div>
  )
}
