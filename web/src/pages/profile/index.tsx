import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { FromCli } from '../../ui/fromcli'
import { PageHead } from '../../ui/page'
import { Tabs } from '../../ui/tabs'
import { cliOf } from './cli'
import { CommandLine } from './commandline'
import { Credentials } from './credentials'
import { Password } from './password'
import { WhoIAm } from './whoiam'

export default function Page() {
  const me = useMe()
  const [{ tab = 'who' }] = useUrlState()
  return (
    <>
      <PageHead
        title="Profile"
        about={`${me.displayName || me.name}: your roles, your sessions and tokens, and how you sign in.`}
        actions={<FromCli {...cliOf(tab)} />}
      />
      <Tabs
        label="Parts of the profile"
        tabs={[
          { key: 'who', title: 'Who you are', content: () => <WhoIAm /> },
          { key: 'tokens', title: 'Sessions and tokens', content: () => <Credentials /> },
          { key: 'password', title: 'Password', content: () => <Password /> },
          { key: 'cli', title: 'Command line', content: () => <CommandLine /> },
        ]}
      />
    </>
  )
}
