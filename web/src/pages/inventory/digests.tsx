import { Alert, Button } from '@patternfly/react-core'
import { useState } from 'react'
import { useUrlState } from '../../app/urlstate'
import { digestsOf, mostDigests } from '../../logic/digests'
import { count } from '../../logic/quantity'
import { TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { keep, pasted } from './pasted'

/** Digests finds which containers run any of a list of digests, as a feed of vulnerabilities names them. */
export function Digests() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button variant="secondary" onClick={() => setOpen(true)}>
        Find digests
      </Button>
      {open && <Paste close={() => setOpen(false)} />}
    </>
  )
}

function Paste({ close }: { close: () => void }) {
  const [, set] = useUrlState()
  const [text, setText] = useState(() => pasted().join('\n'))
  const { digests, wrong } = digestsOf(text)
  const tooMany = digests.length > mostDigests
  const go = async () => {
    keep(digests)
    const all = { text: undefined, repository: undefined, tag: undefined, digest: undefined }
    set({ ...all, view: 'containers', search: 'digests', cursor: undefined })
  }
  return (
    <FormDialog
      isLarge
      title="Find digests"
      about="Which containers run, or ran, one of these images: at the time that is chosen on the page."
      act="Find"
      isIncomplete={digests.length === 0 || tooMany}
      run={go}
      close={close}
    >
      <TextField
        label="Digests, one in a line"
        value={text}
        onChange={setText}
        lines
        placeholder="sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 # CVE-2026-0001"
        error={tooMany ? 'These are too many: search for them in parts.' : undefined}
        help={`Up to ${mostDigests}. What stands before an @ and behind a # is left out. ${count(digests.length, 'digest')} read.`}
      />
      {wrong.length > 0 && (
        <Alert
          component="h2"
          isInline
          variant="warning"
          title={`${count(wrong.length, 'line')} left out: no digest there`}
        >
          <p className="kq-wrap">
            {wrong.slice(0, 3).join(', ')}
            {wrong.length > 3 && ', …'}
          </p>
        </Alert>
      )}
    </FormDialog>
  )
}
