import { Button, ExpandableSection, FormSelect, FormSelectOption, Switch, TextInput } from '@patternfly/react-core'
import { useEffect, useState } from 'react'
import { useUrlState } from '../../app/urlstate'
import { type Filter, type FilterName, filters, isFiltered, type ViewName, views } from '../../logic/inventory'

/** How long a user has to stop typing before it is asked, in milliseconds. */
const rest = 500
/** These mean nothing beside digests that were pasted. */
const ofImages = new Set<FilterName>(['text', 'repository', 'tag', 'digest'])
const narrow = '(max-width: 48rem)'

export function Filters({ view }: { view: ViewName }) {
  const [search, set] = useUrlState()
  const [open, setOpen] = useState(() => isFiltered(view, search) || !matchMedia(narrow).matches)
  const searching = view === 'containers' && search.search === 'digests'
  const names = (views[view].filters as readonly FilterName[]).filter((name) => !searching || !ofImages.has(name))
  const used = names.filter((name) => search[name]).length
  return (
    <ExpandableSection
      toggleText={used > 0 ? `Filters (${used})` : 'Filters'}
      isExpanded={open}
      onToggle={(_, is) => setOpen(is)}
    >
      <div className="kq-filter-grid">
        {names.map((name) => (
          <One key={name} name={name} value={search[name] ?? ''} set={(value) => set({ [name]: value || undefined })} />
        ))}
        {view === 'binaries' && (
          <Switch
            id="filter-places"
            label="A row for each place"
            isChecked={search.places === 'true'}
            onChange={(_, is) => set({ places: is ? 'true' : undefined })}
          />
        )}
      </div>
      {used > 0 && (
        <Button
          variant="link"
          size="sm"
          onClick={() => set(Object.fromEntries(names.map((name) => [name, undefined])))}
        >
          Clear all filters
        </Button>
      )}
    </ExpandableSection>
  )
}

function One(props: { name: FilterName; value: string; set: (value: string) => void }) {
  const { choices }: Filter = filters[props.name]
  return choices ? <Chosen {...props} choices={choices} /> : <Typed {...props} />
}

interface ChosenProps {
  name: FilterName
  value: string
  set: (value: string) => void
  choices: readonly string[]
}

function Chosen({ name, value, set, choices }: ChosenProps) {
  const known = value === '' || choices.includes(value)
  return (
    <div>
      <label htmlFor={`filter-${name}`}>{filters[name].label}</label>
      <FormSelect id={`filter-${name}`} value={value} onChange={(_, to) => set(to)}>
        <FormSelectOption value="" label={filters[name].hint} />
        {[...(known ? [] : [value]), ...choices].map((one) => (
          <FormSelectOption key={one} value={one} label={one} />
        ))}
      </FormSelect>
    </div>
  )
}

function Typed({ name, value, set }: { name: FilterName; value: string; set: (value: string) => void }) {
  const spec: Filter = filters[name]
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
      <label htmlFor={`filter-${name}`}>{spec.label}</label>
      <TextInput
        id={`filter-${name}`}
        type="search"
        value={typed ?? value}
        placeholder={spec.hint}
        autoComplete="off"
        spellCheck="false"
        onChange={(_, text) => setTyped(text)}
      />
    </div>
  )
}
