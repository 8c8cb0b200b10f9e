import { PageSection } from '@patternfly/react-core'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { mayAdminister } from '../../logic/roles'
import { Empty } from '../../ui/empty'
import { FromCli } from '../../ui/fromcli'
import { PageHead } from '../../ui/page'
import { Tabs } from '../../ui/tabs'
import { cliOf } from './cli'
import { IdentityProviders } from './identityproviders'
import { Installation } from './installation'
import { Releases } from './releases'
import { SharedProvisioners } from './shared'
import { BackupStores } from './stores'
import { Users } from './users'

export default function Page() {
  const permission = mayAdminister(useMe())
  const [{ tab = 'users' }] = useUrlState()
  return (
    <>
      <PageHead
        title="Administration"
        about="Who signs in, by which identity providers, and what the installation offers to all organizations."
        actions={<FromCli {...cliOf(tab)} />}
      />
      {permission.allowed ? (
        <Tabs
          label="Parts of the administration"
          tabs={[
            { key: 'users', title: 'Users', content: () => <Users /> },
            { key: 'providers', title: 'Identity providers', content: () => <IdentityProviders /> },
            { key: 'releases', title: 'Releases', content: () => <Releases /> },
            { key: 'provisioners', title: 'Shared provisioners', content: () => <SharedProvisioners /> },
            { key: 'stores', title: 'Backup stores', content: () => <BackupStores /> },
            { key: 'installation', title: 'Installation', content: () => <Installation /> },
          ]}
        />
      ) : (
        <PageSection>
          <Empty title="This page is for administrators of the installation">
            {permission.why} Owners of an organization manage its members, service accounts and provisioners on the
            pages Organizations and Provisioners.
          </Empty>
        </PageSection>
      )}
    </>
  )
}
