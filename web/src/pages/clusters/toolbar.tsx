import {
  Button,
  Checkbox,
  MenuToggle,
  SearchInput,
  Select,
  SelectList,
  SelectOption,
  Toolbar,
  ToolbarContent,
  ToolbarFilter,
  ToolbarGroup,
  ToolbarItem,
  ToolbarToggleGroup,
} from '@patternfly/react-core'
import FilterIcon from '@patternfly/react-icons/dist/esm/icons/filter-icon'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Cluster } from '../../api/objects'
import { clusterSummary } from '../../api/summary'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { chipsOf, type Filter, filters, withoutFilters } from '../../logic/clusterfilters'
import { readable } from '../../logic/foreign'
import { may } from '../../logic/roles'
import type { Chosen } from './table'

interface FiltersProps {
  rows: Cluster[]
  chosen: Chosen
  setChosen: (chosen: Chosen) => void
  deleteChosen: () => void
}

/** Filters is what is above the table: what it is narrowed to, and what is done with the rows that are chosen. */
export function Filters({ rows, chosen, setChosen, deleteChosen }: FiltersProps) {
  const [state, set] = useUrlState()
  return (
    <Toolbar clearAllFilters={() => set(withoutFilters())} clearFiltersButtonText="Clear all filters">
      <ToolbarContent>
        <ToolbarToggleGroup toggleIcon={<FilterIcon />} breakpoint="lg">
          <ToolbarGroup variant="filter-group">
            {filters.map((filter) => (
              <One key={filter.key} filter={filter} value={state[filter.key]} set={set} />
            ))}
          </ToolbarGroup>
        </ToolbarToggleGroup>
        <Bulk rows={rows} chosen={chosen} setChosen={setChosen} deleteChosen={deleteChosen} />
      </ToolbarContent>
    </Toolbar>
  )
}

type Set = ReturnType<typeof useUrlState>[1]

function One({ filter, value, set }: { filter: Filter; value?: string; set: Set }) {
  const change = (to: string | undefined) => set({ [filter.key]: to || undefined })
  const chips = chipsOf(filter, value)
  return (
    <ToolbarFilter
      labels={chips.map((chip) => chip.text)}
      deleteLabel={(_, label) => change(chips.find((chip) => chip.text === label)?.without)}
      deleteLabelGroup={() => change(undefined)}
      categoryName={filter.title}
    >
      {filter.kind === 'choice' ? (
        <OneOf filter={filter} value={value} change={change} />
      ) : (
        <Typed filter={filter} value={value} change={change} />
      )}
    </ToolbarFilter>
  )
}

interface InputProps {
  filter: Filter
  value?: string
  change: (to: string | undefined) => void
}

/** How long after the last key the server is asked, in milliseconds: rows are to be there 300 after it. */
const pause = 120

/** Typed is asked for when typing pauses, or at once by Enter. A label selector waits for Enter: half of one is wrong. */
function Typed({ filter, value = '', change }: InputProps) {
  const [text, setText] = useState(value)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const waits = filter.parameter === 'labelSelector'
  useEffect(() => setText(value), [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const go = (to: string) => {
    clearTimeout(timer.current)
    change(to.trim())
  }
  return (
    <SearchInput
      aria-label={waits ? `${filter.title}, then Enter` : filter.title}
      placeholder={waits ? `${filter.title}: ${filter.placeholder}` : filter.placeholder}
      value={text}
      onChange={(_, to) => {
        setText(to)
        clearTimeout(timer.current)
        if (!waits) timer.current = setTimeout(() => go(to), pause)
      }}
      onSearch={waits ? (_, to) => go(to) : undefined}
      onKeyDown={(event) => event.key === 'Enter' && go(text)}
      onClear={() => {
        setText('')
        go('')
      }}
    />
  )
}

/** useChoices are those of a filter; where clusters are counted for it, it is asked when the list is opened. */
function useChoices(filter: Filter, open: boolean) {
  const [{ org }] = useUrlState()
  const counts = useQuery({
    queryKey: ['clusters', 'summary', org],
    queryFn: () => clusterSummary(org),
    enabled: open && !!filter.counted,
  })
  if (!filter.counted) return filter.choices ?? []
  const items = counts.data?.[filter.counted].items ?? []
  return items
    .filter((one) => one.value)
    .map((one) => ({ value: one.value, text: `${readable(one.value)} (${one.count})` }))
}

function OneOf({ filter, value, change }: InputProps) {
  const [open, setOpen] = useState(false)
  const choices = useChoices(filter, open)
  const now = filter.choices?.find((choice) => choice.value === value)?.text ?? value
  return (
    <Select
      isOpen={open}
      onOpenChange={setOpen}
      selected={value ?? ''}
      popperProps={{ appendTo: 'inline' }}
      onSelect={(_, to) => {
        change(String(to))
        setOpen(false)
      }}
      toggle={(ref) => (
        <MenuToggle ref={ref} onClick={() => setOpen(!open)} isExpanded={open}>
          {filter.title}: {readable(now) || 'any'}
        </MenuToggle>
      )}
    >
      <SelectList aria-label={filter.title}>
        <SelectOption value="">Any</SelectOption>
        {choices.map((choice) => (
          <SelectOption key={choice.value} value={choice.value}>
            {choice.text}
          </SelectOption>
        ))}
      </SelectList>
    </Select>
  )
}

function Bulk({ rows, chosen, setChosen, deleteChosen }: FiltersProps) {
  const me = useMe()
  const mine = rows.filter((row) => may(me, row.organization, 'operator').allowed)
  const count = Object.keys(chosen).length
  const here = mine.filter((row) => row.uid in chosen).length
  if (mine.length === 0 && count === 0) return null
  const all = (are: boolean) => {
    const others = Object.fromEntries(Object.entries(chosen).filter(([uid]) => !mine.some((row) => row.uid === uid)))
    setChosen(are ? { ...others, ...Object.fromEntries(mine.map((row) => [row.uid, row])) } : others)
  }
  return (
    <ToolbarGroup align={{ default: 'alignEnd' }} alignItems="center">
      <ToolbarItem alignSelf="center" className="kq-beside">
        <Checkbox
          id="choose-all"
          label={count > 0 ? `${count} chosen` : 'Choose all here'}
          isChecked={here === 0 ? false : here === mine.length ? true : null}
          onChange={(_, are) => all(are)}
        />
      </ToolbarItem>
      {count > 0 && (
        <ToolbarItem>
          <Button variant="danger" onClick={deleteChosen}>
            Delete chosen
          </Button>
        </ToolbarItem>
      )}
      {count > 0 && (
        <ToolbarItem>
          <Button variant="link" onClick={() => setChosen({})}>
            Choose none
          </Button>
        </ToolbarItem>
      )}
    </ToolbarGroup>
  )
}
