import {
  Button,
  ClipboardCopy,
  ClipboardCopyVariant,
  Modal,
  ModalBody,
  ModalHeader,
  ModalVariant,
  Title,
} from '@patternfly/react-core'
import TerminalIcon from '@patternfly/react-icons/dist/esm/icons/terminal-icon'
import { useState } from 'react'
import { shellWord } from '../logic/shell'

export interface Line {
  about: string
  command: string
}

export interface Call {
  method: string
  path: string
  body?: unknown
}

/** FromCli shows how to do what a page does from the command line and by the REST API. */
export function FromCli({ lines, calls = [] }: { lines: Line[]; calls?: Call[] }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button variant="secondary" icon={<TerminalIcon />} onClick={() => setOpen(true)}>
        CLI and API
      </Button>
      {open && (
        <Modal variant={ModalVariant.medium} isOpen onClose={() => setOpen(false)} aria-labelledby="from-cli">
          <ModalHeader title="Do it from the command line or the API" labelId="from-cli" />
          <ModalBody>
            {lines.map((line) => (
              <div key={line.command}>
                <p>{line.about}</p>
                <Copied text={line.command} />
              </div>
            ))}
            {calls.length > 0 && (
              <Title headingLevel="h2" size="md">
                REST API
              </Title>
            )}
            {calls.map((call) => (
              <Copied key={call.method + call.path} text={curl(call)} />
            ))}
            <p className="kq-quiet kq-small">
              All operations: <a href="/docs/reference/operations">reference of the API</a>. A token for programs:
              Profile, Tokens.
            </p>
          </ModalBody>
        </Modal>
      )}
    </>
  )
}

export function Copied({ text }: { text: string }) {
  return (
    <ClipboardCopy
      isReadOnly
      isCode
      variant={text.includes('\n') ? ClipboardCopyVariant.expansion : ClipboardCopyVariant.inlineCompact}
      isExpanded={text.includes('\n')}
    >
      {text}
    </ClipboardCopy>
  )
}

/** curl is a call as a command line. It is pure. */
export function curl(call: Call, base = location.origin): string {
  const parts = ['curl', '-H "Authorization: Bearer $KQUEEN_TOKEN"']
  if (call.method !== 'GET') parts.push('-X', call.method)
  if (call.body !== undefined)
    parts.push("-H 'Content-Type: application/json'", '-d', shellWord(JSON.stringify(call.body)))
  return [...parts, shellWord(base + call.path)].join(' ')
}
