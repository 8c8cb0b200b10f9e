import { Alert, Button, Form } from '@patternfly/react-core'
import { useState } from 'react'
import { api, ok, signInAgain } from '../../api/client'
import { useMe } from '../../app/queries'
import { isLocal } from '../../logic/members'
import { Empty } from '../../ui/empty'
import { TextField } from '../../ui/field'
import { Part } from '../../ui/part'
import { Refusal } from '../../ui/refusal'

/** Password lets users of this installation change theirs. */
export function Password() {
  const permission = isLocal(useMe())
  if (!permission.allowed) return <Empty title="Your password is not kept here">{permission.why}</Empty>
  return (
    <Part title="Change your password">
      <Alert
        isInline
        component="p"
        variant="info"
        title="All your sessions and tokens end when you change it, this session too. You sign in again with the new one."
      />
      <br />
      <ChangePassword />
    </Part>
  )
}

function ChangePassword() {
  const [old, setOld] = useState('')
  const [password, setPassword] = useState('')
  const [repeated, setRepeated] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const isOther = repeated !== '' && repeated !== password
  const go = async () => {
    setBusy(true)
    setError(undefined)
    try {
      await ok(api.POST('/api/v1/me/password', { body: { old, password } }))
      signInAgain()
    } catch (e) {
      setError(e)
      setBusy(false)
    }
  }
  return (
    <Form
      maxWidth="32rem"
      isWidthLimited
      onSubmit={(event) => {
        event.preventDefault()
        if (!busy && old && password && password === repeated) void go()
      }}
    >
      <TextField
        label="Present password"
        type="password"
        autoComplete="current-password"
        value={old}
        onChange={setOld}
        required
        maxLength={128}
      />
      <TextField
        label="New password"
        type="password"
        autoComplete="new-password"
        value={password}
        onChange={setPassword}
        required
        maxLength={128}
        help="Long beats complicated: a few words that do not belong together."
      />
      <TextField
        label="New password, again"
        type="password"
        autoComplete="new-password"
        value={repeated}
        onChange={setRepeated}
        required
        maxLength={128}
        error={isOther ? 'The passwords are not the same.' : undefined}
      />
      <Refusal error={error} />
      <div>
        <Button type="submit" isDisabled={busy || !old || !password || password !== repeated} isLoading={busy}>
          Change password
        </Button>
      </div>
    </Form>
  )
}
