import { Link } from '@tanstack/react-router'
import { useMe } from '../../app/queries'
import { shellWord } from '../../logic/shell'
import { Copied } from '../../ui/fromcli'
import { Part } from '../../ui/part'

/** CommandLine says how to sign in on the command line, at this server. */
export function CommandLine() {
  const me = useMe()
  const organization = Object.keys(me.roles).sort()[0]
  const steps = [
    {
      about:
        'Sign in. It opens this browser, and you approve it here. The first time you are asked whether you trust the server.',
      command: `kqueen login ${location.origin}`,
    },
    {
      about: 'On a machine without a browser, it shows a code that you enter in a browser anywhere else.',
      command: `kqueen login ${location.origin} --device`,
    },
    { about: 'See who you are and what you may.', command: 'kqueen whoami' },
    {
      about: 'See your clusters.',
      command: `kqueen cluster list${organization ? ` --org ${shellWord(organization)}` : ''}`,
    },
    ...(organization
      ? [
          {
            about: "Have kubectl work on the organization's clusters, node pools and other objects.",
            command: `kqueen organization connect ${shellWord(organization)}`,
          },
        ]
      : []),
  ]
  return (
    <Part title="Sign in on the command line">
      {steps.map((step) => (
        <div key={step.command}>
          <p>{step.about}</p>
          <div className="kq-scroll">
            <Copied text={step.command} />
          </div>
          <br />
        </div>
      ))}
      <p className="kq-quiet">
        Programs do not sign in: give them a token, from{' '}
        <Link to="/profile" search={{ tab: 'tokens' }}>
          Sessions and tokens
        </Link>{' '}
        or of a service account. <a href="/docs/guides/sign-in">More about signing in</a>.
      </p>
    </Part>
  )
}
