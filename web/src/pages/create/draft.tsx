import { createContext, useContext } from 'react'
import type { Draft, FieldErrors, Path } from '../../logic/clusterdocument'
import { pointerOf, read, write } from '../../logic/clusterdocument'

interface Editing {
  draft: Draft
  setDraft: (draft: Draft) => void
  errors: FieldErrors
}

export const EditingContext = createContext<Editing | undefined>(undefined)

/** useEditing is the draft that the form edits, and what is wrong with it. */
export function useEditing() {
  const editing = useContext(EditingContext)
  if (!editing) throw new Error('a field of the draft is outside of the form')
  const { draft, setDraft, errors } = editing
  return {
    ...editing,
    /** What an input needs of the field at a path. An empty text removes the field. */
    at: (...path: Path) => ({
      pointer: pointerOf(path),
      error: errors[pointerOf(path)],
      value: String(read(draft, path) ?? ''),
      onChange: (value: string) => setDraft(write(draft, path, value === '' ? undefined : value)),
    }),
  }
}
