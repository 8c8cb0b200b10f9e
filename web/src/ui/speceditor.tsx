import { Alert, Button, Flex } from '@patternfly/react-core'
import { useState } from 'react'
import type { AnyObject } from '../api/objects'
import type { Permission } from '../logic/roles'
import { type Editable, fromYaml, toYaml } from '../logic/yamlspec'
import { Guarded } from './guarded'
import { Refusal } from './refusal'
import { useTell } from './toasts'
import { Yaml } from './yaml'

interface SpecEditorProps {
  label: string
  object: AnyObject & { spec?: unknown }
  etag: string
  permission: Permission
  /** Replaces the object, as it was at the ETag; or asks what would be. */
  save: (doc: Editable, etag: string, dryRun: boolean) => Promise<unknown>
}

const keys = ['labels', 'annotations', 'spec']

/** SpecEditor shows an object as YAML and lets those who may change it. What a user types is not overwritten by changes of others. */
export function SpecEditor({ label, object, etag, permission, save }: SpecEditorProps) {
  const tell = useTell()
  const [draft, setDraft] = useState<{ text: string; etag: string }>()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const present = toYaml(object)
  const parsed = draft && fromYaml<Editable>(draft.text, keys)
  const isOld = draft !== undefined && draft.etag !== etag
  const send = async (dryRun: boolean) => {
    if (!parsed?.value || !draft) return
    setBusy(true)
    setError(undefined)
    try {
      await save(parsed.value, draft.etag, dryRun)
      tell(dryRun ? 'The server would take it. Nothing has been changed.' : `${object.kind} ${object.name} was changed`)
      if (!dryRun) setDraft(undefined)
    } catch (e) {
      setError(e)
    }
    setBusy(false)
  }
  const stop = () => {
    setDraft(undefined)
    setError(undefined)
  }
  const change = (text: string) => setDraft({ text, etag: draft?.etag ?? etag })
  return (
    <>
      {isOld && (
        <Alert component="p" isInline variant="warning" title="It has been changed since you began">
          Saving will be refused, so that the other change is not lost. Copy what you need, discard, and begin again.
        </Alert>
      )}
      <Yaml label={label} value={draft?.text ?? present} onChange={draft ? change : undefined} />
      {parsed?.error && <Alert component="p" isInline isPlain variant="danger" title={parsed.error} />}
      <Refusal error={error} />
      <br />
      {draft ? (
        <Flex spaceItems={{ default: 'spaceItemsSm' }}>
          <Button isDisabled={busy || !parsed?.value || draft.text === present} onClick={() => void send(false)}>
            Save
          </Button>
          <Button variant="secondary" isDisabled={busy || !parsed?.value} onClick={() => void send(true)}>
            Check without saving
          </Button>
          <Button variant="link" onClick={stop}>
            Discard
          </Button>
        </Flex>
      ) : (
        <Guarded variant="secondary" permission={permission} onClick={() => setDraft({ text: present, etag })}>
          Edit
        </Guarded>
      )}
    </>
  )
}
