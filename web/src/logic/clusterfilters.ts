import type { Search } from '../app/urlstate'
import { readable } from './foreign'

/** A filter of the list of clusters. Its key is that in the URL. */
export interface Filter {
  key: string
  /** Parameter of the REST API. */
  parameter: 'name' | 'ready' | 'labelSelector' | 'provisioner' | 'version'
  title: string
  kind: 'text' | 'choice'
  placeholder?: string
  choices?: { value: string; text: string }[]
  /** The choices are the values that clusters have, with how many have each, of this part of the summary. */
  counted?: 'byVersion' | 'byProvisioner'
}

/** The filters, in the order in which they are shown: toolbar, chips, URL and request are made from this list alone. */
export const filters: Filter[] = [
  { key: 'name', parameter: 'name', title: 'Name', kind: 'text', placeholder: 'Part of a name' },
  {
    key: 'ready',
    parameter: 'ready',
    title: 'Health',
    kind: 'choice',
    choices: [
      { value: 'true', text: 'Ready' },
      { value: 'false', text: 'Not ready' },
      { value: 'unknown', text: 'Unknown' },
    ],
  },
  { key: 'version', parameter: 'version', title: 'Version', kind: 'choice', counted: 'byVersion' },
  { key: 'provisioner', parameter: 'provisioner', title: 'Provisioner', kind: 'choice', counted: 'byProvisioner' },
  { key: 'labels', parameter: 'labelSelector', title: 'Labels', kind: 'text', placeholder: 'team=blue,stage!=test' },
]

/** queryOf is what is asked of the API for what is chosen. */
export function queryOf(search: Search): Record<string, string> {
  const said = filters.flatMap((filter) => {
    const value = search[filter.key]?.trim()
    return value ? [[filter.parameter, value] as const] : []
  })
  return Object.fromEntries(said)
}

/** isFiltered says whether any filter is set. */
export const isFiltered = (search: Search) => filters.some((filter) => search[filter.key])

/** withoutFilters is the change of the URL that removes all of them. */
export const withoutFilters = (): Search => Object.fromEntries(filters.map((filter) => [filter.key, undefined]))

/** requirementsOf are the parts of a label selector: commas within parentheses belong to a part. */
export function requirementsOf(selector: string | undefined): string[] {
  const parts = ['']
  let depth = 0
  for (const letter of selector ?? '') {
    if (letter === '(') depth++
    if (letter === ')') depth--
    if (letter === ',' && depth <= 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}

/** chipsOf are the texts of the chips of a filter, and what the filter is without each. */
export function chipsOf(filter: Filter, value: string | undefined): { text: string; without?: string }[] {
  if (!value) return []
  if (filter.key === 'labels') {
    const all = requirementsOf(value)
    return all.map((text) => ({ text, without: all.filter((one) => one !== text).join(',') || undefined }))
  }
  return [{ text: filter.choices?.find((choice) => choice.value === value)?.text ?? readable(value) }]
}
