import { Alert, Button, Form, Modal, ModalBody, ModalFooter, ModalHeader } from '@patternfly/react-core'
import { type ReactNode, useEffect, useId, useRef, useState } from 'react'
import { TextField } from './field'
import { Refusal } from './refusal'

interface FormDialogProps {
  title: string
  about?: ReactNode
  /** Fields, or what will happen. */
  children?: ReactNode
  /** What the button says. */
  act: string
  /** The button does nothing while this is true. */
  isIncomplete?: boolean
  /** Something is lost by it: it is done by the button alone, not by Enter. */
  isDanger?: boolean
  /** A name that has to be typed before, where what is lost does not come back. */
  typed?: string
  isLarge?: boolean
  /**
   * Where the server can check it before (dry run): what is chosen, as a text, for which a check holds. With `atOnce` each choice is checked
   * by itself. `run` then returns in words what would be.
   */
  check?: { of: string; atOnce?: boolean }
  run: (dryRun: boolean) => Promise<unknown>
  /** What follows when it is done; it closes where nothing else is said. */
  done?: () => void
  close: () => void
}

/** FormDialog asks for what something needs, or before it is done, does it, and stays open with the reason when it is refused. */
export function FormDialog(props: FormDialogProps) {
  const { title, about, children, act, isDanger, typed, isLarge, check, close } = props
  const id = useId()
  const [said, setSaid] = useState('')
  const isIncomplete = !!props.isIncomplete || (typed !== undefined && said !== typed)
  const { busy, error, says, go } = useRun(props, isIncomplete)
  const answer = useRef<HTMLDivElement>(null)
  // biome-ignore lint/correctness/useExhaustiveDependencies: an answer is to be seen
  useEffect(() => {
    answer.current?.scrollIntoView({ block: 'nearest' })
  }, [error, says])
  return (
    <Modal variant={isLarge ? 'medium' : 'small'} isOpen onClose={close} aria-labelledby={`${id}-title`}>
      <ModalHeader
        title={title}
        labelId={`${id}-title`}
        description={about}
        titleIconVariant={isDanger ? 'warning' : undefined}
      />
      <ModalBody tabIndex={0} aria-label={title}>
        <Form
          id={id}
          onSubmit={(event) => {
            event.preventDefault()
            if (!isDanger && busy !== 'act' && !isIncomplete) void go(false)
          }}
        >
          {children}
          {typed !== undefined && <TextField label={`Type ${typed} to go on`} value={said} onChange={setSaid} />}
          <div aria-live="polite" ref={answer}>
            <Refusal error={error} />
            {says && (
              <Alert
                component="p"
                isInline
                variant="info"
                title="The server would take this (dry run)"
                className="kq-wrap"
              >
                {says}
              </Alert>
            )}
          </div>
        </Form>
      </ModalBody>
      <ModalFooter>
        <Button
          {...(isDanger ? { variant: 'danger', onClick: () => void go(false) } : { type: 'submit', form: id })}
          isDisabled={busy === 'act' || isIncomplete}
          isLoading={busy === 'act'}
        >
          {act}
        </Button>
        {check && (
          <Button
            variant="secondary"
            isDisabled={busy !== undefined || isIncomplete}
            isLoading={busy === 'check'}
            onClick={() => void go(true)}
          >
            Check only
          </Button>
        )}
        <Button variant="link" onClick={close}>
          Cancel
        </Button>
      </ModalFooter>
    </Modal>
  )
}

/** useRun does it or checks it. The answer to what was asked last counts; one to a check holds for what was chosen then. */
function useRun({ run, check, close, done = close }: FormDialogProps, isIncomplete: boolean) {
  const [busy, setBusy] = useState<'act' | 'check'>()
  const [error, setError] = useState<unknown>()
  const [checked, setChecked] = useState<{ of?: string; says: string }>()
  const turn = useRef(0)
  const go = async (dryRun: boolean) => {
    const mine = ++turn.current
    setBusy(dryRun ? 'check' : 'act')
    setError(undefined)
    try {
      const says = await run(dryRun)
      if (mine !== turn.current) return
      if (!dryRun) return done()
      setChecked({ of: check?.of, says: String(says) })
    } catch (e) {
      if (mine === turn.current) setError(e)
    }
    if (mine === turn.current) setBusy(undefined)
  }
  const latest = useRef(go)
  latest.current = go
  const atOnce = !!check?.atOnce && !isIncomplete
  // biome-ignore lint/correctness/useExhaustiveDependencies: each choice is checked once
  useEffect(() => {
    if (atOnce) void latest.current(true)
  }, [atOnce, check?.of])
  const says = check && !error && checked?.of === check.of ? checked.says : undefined
  return { busy, error, says, go }
}
