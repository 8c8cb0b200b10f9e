/** A document as JSON has it. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export interface Change {
  /** Where, as keys from the top. */
  path: string[]
  base?: Json
  yours?: Json
  theirs?: Json
  /** Who changed it. With conflict both did, and not alike. */
  by: 'yours' | 'theirs' | 'both' | 'conflict'
}

/** Those of the base, of you and of them. */
type Maps = [Map<string, Json>, Map<string, Json>, Map<string, Json>]

type Named = { name: string; [key: string]: Json }

function isMap(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isNamed(value: Json | undefined): value is Named[] {
  if (!Array.isArray(value)) return false
  const names = value.map((item) => (isMap(item) && typeof item.name === 'string' ? item.name : undefined))
  return !names.includes(undefined) && new Set(names).size === names.length
}

/** equal says whether two documents say the same; the order of keys does not count, that of lists does. */
export function equal(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => equal(item, b[i]))
  if (!isMap(a) || !isMap(b)) return false
  const keys = Object.keys(a)
  return keys.length === Object.keys(b).length && keys.every((key) => key in b && equal(a[key], b[key]))
}

/** inside takes a value apart by its keys, where all that are there can be; lists of named items by these names. */
function inside(...values: [base?: Json, yours?: Json, theirs?: Json]): { maps: Maps; list: boolean } | undefined {
  const there = values.filter((value) => value !== undefined)
  if (there.length < 2) return undefined
  if (there.every(isMap))
    return { maps: values.map((v) => new Map(Object.entries(isMap(v) ? v : {}))) as Maps, list: false }
  if (there.every(isNamed)) {
    return {
      maps: values.map((v) => new Map<string, Json>(isNamed(v) ? v.map((item) => [item.name, item]) : [])) as Maps,
      list: true,
    }
  }
  return undefined
}

function keysOf(maps: Map<string, Json>[]): string[] {
  return [...new Set(maps.flatMap((map) => [...map.keys()]))]
}

/** changes says what two documents that come from one base have changed, and where they contradict each other. */
export function changes(base?: Json, yours?: Json, theirs?: Json, path: string[] = []): Change[] {
  const mine = !equal(base, yours)
  const other = !equal(base, theirs)
  if (!mine && !other) return []
  const parts = inside(base, yours, theirs)
  if (parts && (yours === undefined || theirs === undefined))
    return [{ path, base, yours, theirs, by: who(mine, other) }]
  if (parts) {
    const [b, y, t] = parts.maps
    return keysOf(parts.maps).flatMap((key) => changes(b.get(key), y.get(key), t.get(key), [...path, key]))
  }
  return [{ path, base, yours, theirs, by: mine && other && equal(yours, theirs) ? 'both' : who(mine, other) }]
}

function who(mine: boolean, other: boolean): Change['by'] {
  return mine && other ? 'conflict' : mine ? 'yours' : 'theirs'
}

/** merged is what both have changed together. Where they contradict each other, it is as `prefer` has it. */
export function merged(
  base: Json | undefined,
  yours: Json | undefined,
  theirs: Json | undefined,
  prefer: 'yours' | 'theirs',
): Json | undefined {
  if (equal(base, yours)) return theirs
  if (equal(base, theirs) || equal(yours, theirs)) return yours
  const parts = yours === undefined || theirs === undefined ? undefined : inside(base, yours, theirs)
  if (!parts) return prefer === 'yours' ? yours : theirs
  const [b, y, t] = parts.maps
  const order = keysOf([t, y])
  const all = order.flatMap((key): [string, Json][] => {
    const value = merged(b.get(key), y.get(key), t.get(key), prefer)
    return value === undefined ? [] : [[key, value]]
  })
  return parts.list ? all.map(([, value]) => value) : Object.fromEntries(all)
}
