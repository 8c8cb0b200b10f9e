import { HighlightStyle, syntaxHighlighting } from '@codemirror/language'
import { EditorView } from '@codemirror/view'
import { tags } from '@lezer/highlight'

// Each colour has a contrast of at least 4.5 to the ground of its theme (WCAG 2.2, 1.4.3).
const light = {
  ground: '#ffffff',
  text: '#151515',
  key: '#6d3fa0',
  value: '#1b5e20',
  number: '#8f3a00',
  quiet: '#5f5f5f',
  line: '#f5f0fa',
}
const dark = {
  ground: '#1f1f1f',
  text: '#e8e8e8',
  key: '#d6bdf4',
  value: '#a5d6a7',
  number: '#ffcc80',
  quiet: '#b0b0b0',
  line: '#2c2633',
}

/** editorColors are the colours of the editor in one of both themes. */
export function editorColors(isDark: boolean) {
  const c = isDark ? dark : light
  const look = EditorView.theme(
    {
      '&': { color: c.text, backgroundColor: c.ground },
      '.cm-content': { caretColor: c.text },
      '.cm-cursor': { borderLeftColor: c.text },
      '.cm-gutters': { color: c.quiet, backgroundColor: c.ground, border: 'none' },
      '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: c.line },
    },
    { dark: isDark },
  )
  const marks = HighlightStyle.define([
    { tag: [tags.propertyName, tags.definition(tags.propertyName), tags.keyword], color: c.key },
    { tag: [tags.string, tags.content], color: c.value },
    { tag: [tags.number, tags.bool, tags.null], color: c.number },
    { tag: [tags.comment, tags.meta, tags.punctuation, tags.separator], color: c.quiet },
  ])
  return [look, syntaxHighlighting(marks)]
}
