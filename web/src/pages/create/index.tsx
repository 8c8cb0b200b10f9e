import { Button, PageSection, Spinner } from '@patternfly/react-core'
import { Link } from '@tanstack/react-router'
import { useOperable } from '../../app/catalogue'
import { useUrlState } from '../../app/urlstate'
import { Empty } from '../../ui/empty'
import { PageHead } from '../../ui/page'
import { Maker } from './maker'

const about = 'One cluster, and nodes for it if you like, as a form or as YAML: both edit the same document.'

export default function CreatePage() {
  const [state] = useUrlState()
  const { organizations, isPending } = useOperable()
  const above = [{ to: '/clusters', name: 'Clusters' }]
  if (isPending || organizations.length === 0) {
    return (
      <>
        <PageHead title="Create a cluster" about={about} above={above} />
        <PageSection>
          {isPending ? (
            <Spinner aria-label="Loading" />
          ) : (
            <Empty
              title="You may create clusters in no organization"
              actions={
                <Button variant="link" component={(props) => <Link {...props} to="/organizations" search={{}} />}>
                  See your organizations
                </Button>
              }
            >
              This needs the role operator or owner in an organization. One of its owners can give it to you.
            </Empty>
          )}
        </PageSection>
      </>
    )
  }
  const begin = state.org && organizations.includes(state.org) ? state.org : (organizations[0] ?? '')
  return <Maker organization={begin} about={about} above={above} />
}
