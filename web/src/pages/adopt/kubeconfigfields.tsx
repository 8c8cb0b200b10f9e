import { Alert, FileUpload } from '@patternfly/react-core'
import { useEffect, useState } from 'react'
import { readable } from '../../logic/foreign'
import { contextsOf, type Kubeconfig, type Reduced, reduce } from '../../logic/kubeconfig'
import { ChoiceField, Field, idOf } from '../../ui/field'

interface KubeconfigFieldsProps {
  setReduced: (reduced: Reduced | undefined) => void
  /** It was tried without one. */
  missing: boolean
  /** What the server says of it. */
  error?: string
}

interface Read {
  config?: Kubeconfig
  reduced?: Reduced
  problem?: string
}

function readIn(text: string, context: string): Read {
  if (text.trim() === '') return {}
  let config: Kubeconfig | undefined
  try {
    config = contextsOf(text)
    const chosen = context || config.current
    if (!chosen) return { config, problem: 'It has no current context: choose one.' }
    return { config, reduced: reduce(text, chosen) }
  } catch (e) {
    return { config, problem: e instanceof Error ? e.message : String(e) }
  }
}

/** KubeconfigFields take a kubeconfig, and say what of it is sent. It is read in the browser. */
export function KubeconfigFields({ setReduced, missing, error }: KubeconfigFieldsProps) {
  const [text, setText] = useState('')
  const [file, setFile] = useState('')
  const [context, setContext] = useState('')
  const [read, setRead] = useState<Read>({})
  useEffect(() => {
    const now = readIn(text, context)
    setRead(now)
    setReduced(now.reduced)
  }, [text, context, setReduced])
  const problem = read.problem ?? (missing && text.trim() === '' ? 'Give a kubeconfig.' : undefined) ?? error
  const id = idOf('/kubeconfig')
  const change = (to: string) => {
    setText(to)
    setContext('')
  }
  return (
    <>
      <Field
        id={id}
        label="Kubeconfig"
        required
        error={problem}
        help="It is read in your browser. Programs (exec, auth-provider), paths of files, insecure-skip-tls-verify, proxy-url and impersonation are refused: KQueen runs and reads nothing of a kubeconfig on its host."
      >
        <FileUpload
          id={id}
          type="text"
          value={text}
          filename={file}
          filenamePlaceholder="Drop a file here, choose one, or paste its content below"
          filenameAriaLabel="File with the kubeconfig"
          aria-label="Content of the kubeconfig"
          browseButtonText="Choose file"
          onFileInputChange={(_, chosen) => setFile(chosen.name)}
          onDataChange={(_, data) => change(data)}
          onTextChange={(_, data) => change(data)}
          onClearClick={() => {
            setFile('')
            change('')
          }}
          dropzoneProps={{ maxSize: 1 << 20 }}
          validated={problem ? 'error' : 'default'}
          textAreaPlaceholder="apiVersion: v1&#10;kind: Config"
          spellCheck={false}
        />
      </Field>
      {read.config && (
        <ChoiceField
          pointer="/context"
          label="Context"
          value={context || read.config.current || ''}
          choices={read.config.contexts.map((one) => ({ value: one, text: readable(one) }))}
          onChange={setContext}
        />
      )}
      {read.reduced && (
        <Alert isInline component="p" variant="info" title="What is sent" className="kq-wrap">
          The context {read.reduced.context} alone: the server {read.reduced.server} and the user {read.reduced.user}{' '}
          with {read.reduced.proof}. The cluster is asked with it first. KQueen stores it encrypted, and no role can
          read it again.
        </Alert>
      )}
    </>
  )
}
