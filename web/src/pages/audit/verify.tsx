import {
  Alert,
  Button,
  Form,
  List,
  ListItem,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  ModalVariant,
} from '@patternfly/react-core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { api, idempotencyKey, ok, type Schemas } from '../../api/client'
import { headOf, verdictOf } from '../../logic/auditquery'
import { TextField } from '../../ui/field'
import { Copied } from '../../ui/fromcli'
import { ProblemAlert } from '../../ui/problem'

type Head = Schemas['AuditHead']
type Report = Schemas['AuditReport']

/** Verify checks the chain of the log of the installation. It is for administrators. */
export function Verify() {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button variant="secondary" onClick={() => setOpen(true)}>
        Verify
      </Button>
      {open && <Check close={() => setOpen(false)} />}
    </>
  )
}

function Check({ close }: { close: () => void }) {
  const [text, setText] = useState('')
  const head = headOf(text)
  const wrong = text.trim() !== '' && !head
  const check = useMutation({
    mutationFn: (body: Head | undefined) =>
      ok(api.POST('/api/v1/audit/verification', { body, headers: idempotencyKey() })),
  })
  return (
    <Modal variant={ModalVariant.medium} isOpen onClose={close} aria-labelledby="verify-title">
      <ModalHeader
        title="Verify the audit log"
        labelId="verify-title"
        description="Each record holds the hash of the one before it. The check computes all of them again, for the whole installation."
      />
      <ModalBody>
        <Form
          onSubmit={(event) => {
            event.preventDefault()
            if (!wrong) check.mutate(head)
          }}
        >
          <TextField
            label="A head from an earlier check (optional)"
            value={text}
            onChange={setText}
            placeholder="42:9f86d081…"
            error={wrong ? 'A head is the number of a record, a colon and 64 hexadecimal digits.' : undefined}
            help="With it the check also proves that nothing was removed from the end of the log since."
          />
        </Form>
        <ProblemAlert error={check.error} />
        {check.data && <Verdict report={check.data} against={check.variables} />}
      </ModalBody>
      <ModalFooter>
        <Button isDisabled={wrong || check.isPending} isLoading={check.isPending} onClick={() => check.mutate(head)}>
          {check.data ? 'Verify again' : 'Verify'}
        </Button>
        <Button variant="link" onClick={close}>
          Close
        </Button>
      </ModalFooter>
    </Modal>
  )
}

function Verdict({ report, against }: { report: Report; against?: Head }) {
  const verdict = verdictOf(report, against)
  return (
    <Alert component="h2" isInline variant={verdict.whole ? 'success' : 'danger'} title={verdict.title}>
      <p>{verdict.text}</p>
      {!verdict.whole && (
        <List>
          {(report.problems ?? []).map((one) => (
            <ListItem key={`${one.first}-${one.detail}`} className="kq-wrap">
              {one.first === one.last ? `Record ${one.first}` : `Records ${one.first} to ${one.last}`}: {one.detail}
            </ListItem>
          ))}
        </List>
      )}
      <p>The head of the log now; keep it elsewhere:</p>
      <Copied text={`${report.head.sequence}:${report.head.hash}`} />
    </Alert>
  )
}
