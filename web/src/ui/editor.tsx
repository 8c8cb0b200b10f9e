import { yaml } from '@codemirror/lang-yaml'
import { EditorState } from '@codemirror/state'
import { basicSetup, EditorView } from 'codemirror'
import { useEffect, useRef } from 'react'
import { useDark } from '../app/theme'
import { editorColors } from './editorcolors'
import type { YamlProps } from './yaml'

export default function Editor({ value, onChange, label }: YamlProps) {
  const at = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(undefined)
  const changed = useRef(onChange)
  changed.current = onChange
  const dark = useDark()
  const first = useRef(value)
  const readOnly = onChange === undefined
  useEffect(() => {
    if (!at.current) return
    const made = new EditorView({
      parent: at.current,
      state: EditorState.create({
        doc: view.current?.state.doc ?? first.current,
        extensions: [
          basicSetup,
          yaml(),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': label }),
          EditorState.readOnly.of(readOnly),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) changed.current?.(update.state.doc.toString())
          }),
          editorColors(dark),
        ],
      }),
    })
    view.current = made
    return () => made.destroy()
  }, [label, readOnly, dark])
  useEffect(() => {
    const has = view.current?.state.doc.toString()
    if (view.current && has !== value)
      view.current.dispatch({ changes: { from: 0, to: has?.length ?? 0, insert: value } })
  }, [value])
  return <div ref={at} className="kq-editor" />
}
