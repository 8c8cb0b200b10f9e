import type { Schemas } from '../../api/client'
import { shellWord } from '../../logic/shell'
import { exact } from '../../logic/time'
import { SecretOnce } from '../../ui/secretonce'

export interface OneTimeFor {
  user: string
  token: Schemas['OneTime']
}

/** OneTime shows how a user chooses a password: by a link, or by the command line. */
export function OneTime({ once, close }: { once: OneTimeFor; close: () => void }) {
  const { user, token } = once
  return (
    <SecretOnce
      title={`One-time token for ${user}`}
      close={close}
      shown={[
        {
          about: `Send ${user} this link in private. Until ${exact(new Date(token.expiresAt))} it lets them choose a password, once:`,
          text: `${location.origin}/welcome?token=${encodeURIComponent(token.token)}`,
        },
        { about: 'Or the token alone:', text: token.token },
        {
          about: 'which this command asks for:',
          text: `kqueen login ${location.origin} --username ${shellWord(user)} --one-time-token-file -`,
        },
      ]}
    />
  )
}
