import { Alert, Button, Modal, ModalBody, ModalFooter, ModalHeader, ModalVariant, Stack } from '@patternfly/react-core'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { ProblemAlert } from '../../ui/problem'

interface DialogProps {
  title: string
  about?: ReactNode
  children?: ReactNode
  /** What the button says. */
  act: string
  /** What was chosen, as a text: what was checked holds as long as it stays. */
  chosen: string
  /** Does it, or says what would be: then it returns that in words. */
  run: (dryRun: boolean) => Promise<string>
  /** Checks whatever is chosen by itself. */
  checks?: boolean
  isDisabled?: boolean
  close: () => void
}

/** Dialog asks for a change and can have it checked by the server before (dry run). */
export function Dialog({ title, about, children, act, chosen, run, checks, isDisabled, close }: DialogProps) {
  const [busy, setBusy] = useState<'act' | 'check'>()
  const [error, setError] = useState<unknown>()
  const [checked, setChecked] = useState<{ of: string; says: string }>()
  const turn = useRef(0)
  const answer = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: an answer is to be seen
  useEffect(() => {
    answer.current?.scrollIntoView({ block: 'nearest' })
  }, [error, checked])
  const go = async (dryRun: boolean) => {
    const mine = ++turn.current
    setBusy(dryRun ? 'check' : 'act')
    setError(undefined)
    try {
      const says = await run(dryRun)
      if (mine !== turn.current) return
      if (!dryRun) return close()
      setChecked({ of: chosen, says })
    } catch (e) {
      if (mine === turn.current) setError(e)
    }
    if (mine === turn.current) setBusy(undefined)
  }
  const latest = useRef(go)
  latest.current = go
  // biome-ignore lint/correctness/useExhaustiveDependencies: each choice is checked once
  useEffect(() => {
    if (checks && !isDisabled) void latest.current(true)
  }, [checks, isDisabled, chosen])
  return (
    <Modal variant={ModalVariant.small} isOpen onClose={close} aria-labelledby="dialog-title">
      <ModalHeader title={title} labelId="dialog-title" description={about} />
      <ModalBody>
        <Stack hasGutter>
          {' '}
          {children}
          <div aria-live="polite" ref={answer}>
            <ProblemAlert error={error} />
            {!error && checked?.of === chosen && (
              <Alert
                component="p"
                isInline
                variant="info"
                title="The server would take this (dry run)"
                className="kq-wrap"
              >
                {checked.says}
              </Alert>
            )}
          </div>
        </Stack>{' '}
      </ModalBody>
      <ModalFooter>
        <Button isDisabled={isDisabled || busy === 'act'} isLoading={busy === 'act'} onClick={() => void go(false)}>
          {act}
        </Button>
        <Button
          variant="secondary"
          isDisabled={isDisabled || busy !== undefined}
          isLoading={busy === 'check'}
          onClick={() => void go(true)}
        >
          Check only
        </Button>
        <Button variant="link" onClick={close}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  )
}
