import { api, ok, type Schemas } from '../../api/client'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import type { OneTimeFor } from './onetime'
import { type Asking, reset } from './userdialogs'
import type { User } from './users'

interface Props {
  what: Asking
  user: User
  show: (once: OneTimeFor) => void
  changed: () => Promise<unknown>
  close: () => void
}

interface Question {
  title: string
  text: string
  act: string
  /** It takes something away. */
  isDanger?: boolean
  /** The name has to be typed. */
  isFinal?: boolean
  run: () => Promise<unknown>
}

/** UserConfirms asks before what changes how a user gets in. */
export function UserConfirms({ what, user, show, changed, close }: Props) {
  const tell = useTell()
  const question = questions(user, show)[what]
  const run = async () => {
    await question.run()
    if (what !== 'reset') tell(`${question.act}: ${user.name}`)
    await changed()
  }
  if (question.isDanger) {
    return (
      <FormDialog
        isDanger
        title={question.title}
        act={question.act}
        typed={question.isFinal ? user.name : undefined}
        run={run}
        close={close}
      >
        <p>{question.text}</p>
      </FormDialog>
    )
  }
  return (
    <FormDialog title={question.title} act={question.act} run={run} close={close}>
      <p>{question.text}</p>
    </FormDialog>
  )
}

function questions(user: User, show: (once: OneTimeFor) => void): Record<Asking, Question> {
  const { name } = user
  const params = { path: { user: name } }
  const change = (body: Schemas['UserChange']) => ok(api.PATCH('/api/v1/users/{user}', { params, body }))
  return {
    promote: {
      title: `Make ${name} an administrator?`,
      text: 'Administrators may do everything in every organization, create and delete organizations, and say who signs in.',
      act: 'Make administrator',
      run: () => change({ admin: true }),
    },
    demote: {
      title: `Take the administration away from ${name}?`,
      text: 'The roles in organizations stay. An administrator by a group of an identity provider stays one until the group changes.',
      act: 'Take away',
      isDanger: true,
      run: () => change({ admin: false }),
    },
    reset: {
      title: `Reset the password of ${name}?`,
      text: 'You are shown, once, a link by which the user chooses a new password. The old one is of use until then; with the new one all sessions and tokens end.',
      act: 'Make one-time token',
      run: async () => show(await reset(name)),
    },
    revoke: {
      title: `End all sessions and tokens of ${name}?`,
      text: 'The user is signed out everywhere, and programs with API tokens of the user are refused. The user can sign in again. Tokens do not come back.',
      act: 'End sessions and tokens',
      isDanger: true,
      run: () => ok(api.POST('/api/v1/users/{user}/revoke', { params })),
    },
    enable: {
      title: `Enable ${name}?`,
      text: 'The user can sign in again, with the roles that organizations still give.',
      act: 'Enable',
      run: () => change({ disabled: false }),
    },
    disable: {
      title: `Disable ${name}?`,
      text: 'The user cannot sign in, and all sessions and tokens end at the next request. Tokens do not come back when you enable the user again.',
      act: 'Disable',
      isDanger: true,
      run: () => change({ disabled: true }),
    },
    delete: {
      title: `Delete ${name}?`,
      text: 'All sessions, tokens and memberships of the user go. What the user created stays, also what names the user inside clusters. This cannot be undone.',
      act: 'Delete user',
      isDanger: true,
      isFinal: true,
      run: () => ok(api.DELETE('/api/v1/users/{user}', { params })),
    },
  }
}
