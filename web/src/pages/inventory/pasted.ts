import { mostDigests } from '../../logic/digests'

const key = 'kqueen.digests'
let here: string[] = []

/** keep remembers pasted digests for as long as the tab lives: a thousand of them are too long for a URL. */
export function keep(digests: string[]) {
  here = digests
  try {
    sessionStorage.setItem(key, digests.join('\n'))
  } catch {
    // Storage is closed to this page: they last until it is left.
  }
}

export function pasted(): string[] {
  try {
    return (sessionStorage.getItem(key) ?? '').split('\n').filter(Boolean).slice(0, mostDigests)
  } catch {
    return here
  }
}
