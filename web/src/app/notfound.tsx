import {
  Button,
  EmptyState,
  EmptyStateActions,
  EmptyStateBody,
  EmptyStateFooter,
  PageSection,
} from '@patternfly/react-core'
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon'
import { Link } from '@tanstack/react-router'

export function NotFound() {
  return (
    <PageSection>
      <EmptyState titleText="There is no such page" headingLevel="h1" icon={SearchIcon}>
        <EmptyStateBody>The address is wrong, or it is of another version of KQueen.</EmptyStateBody>
        <EmptyStateFooter>
          <EmptyStateActions>
            <Button variant="link" component={(props) => <Link {...props} to="/" />}>
              Go to the overview
            </Button>
          </EmptyStateActions>
        </EmptyStateFooter>
      </EmptyState>
    </PageSection>
  )
}
