import { lazy, Suspense } from 'react'

const Editor = lazy(() => import('./editor'))

export interface YamlProps {
  value: string
  onChange?: (value: string) => void
  label: string
}

/** Yaml is an editor of a document, or shows it where nothing takes changes. Its code is loaded when it is first shown. */
export function Yaml(props: YamlProps) {
  return (
    <Suspense fallback={<pre className="kq-editor">{props.value}</pre>}>
      <Editor {...props} />
    </Suspense>
  )
}
