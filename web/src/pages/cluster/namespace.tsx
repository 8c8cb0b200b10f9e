import { Button, InputGroup, InputGroupItem, TextInput } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { isName } from '../../logic/foreign'
import type { Of } from './data'

/** useNamespaces are namespaces in which something runs, by the first workloads that the inventory names; those of Kubernetes come last. */
export function useNamespaces(of: Of) {
  return useQuery({
    queryKey: ['inventory', 'namespaces', of.organization, of.cluster],
    queryFn: async () => {
      const page = await ok(
        api.GET('/api/v1/inventory/workloads', {
          params: { query: { organization: [of.organization], cluster: [of.cluster], limit: 200 } },
        }),
      )
      // What is no name is neither asked for nor put into commands.
      const names = [...new Set((page.items ?? []).map((workload) => workload.namespace))].filter(isName)
      const rank = (name: string) => (name.startsWith('kube-') ? 1 : 0)
      return names.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b))
    },
    staleTime: 60_000,
  })
}

interface NamespaceProps {
  of: Of
  value: string
  set: (namespace: string | undefined) => void
  /** What the field stands for when it is empty. */
  none: string
}

/** Namespace chooses one by its name; those that are known are offered. */
export function Namespace({ of, value, set, none }: NamespaceProps) {
  const known = useNamespaces(of).data ?? []
  const [text, setText] = useState(value)
  const [last, setLast] = useState(value)
  if (last !== value) {
    setLast(value)
    setText(value)
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        set(text.trim() || undefined)
      }}
    >
      <InputGroup>
        <InputGroupItem>
          <TextInput
            value={text}
            onChange={(event, typed) => {
              setText(typed)
              // What was chosen from the list counts at once.
              if (known.includes(typed) && !(event.nativeEvent as InputEvent).inputType?.startsWith('insertText'))
                set(typed)
            }}
            aria-label="Namespace"
            placeholder={none}
            list="kq-namespaces"
            autoComplete="off"
            spellCheck={false}
            maxLength={63}
          />
          <datalist id="kq-namespaces">
            {known.map((name) => (
              <option key={name} value={name} />
            ))}
          </datalist>
        </InputGroupItem>
        <InputGroupItem>
          <Button variant="control" type="submit">
            Show
          </Button>
        </InputGroupItem>
      </InputGroup>
    </form>
  )
}
