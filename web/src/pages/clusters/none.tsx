import { Button } from '@patternfly/react-core'
import { useUrlState } from '../../app/urlstate'
import { withoutFilters } from '../../logic/clusterfilters'
import { Empty } from '../../ui/empty'
import { Begin } from './begin'

/** NoClusters says why the list is empty, and leads on. */
export function NoClusters({ filtered, organization }: { filtered: boolean; organization?: string }) {
  const [, set] = useUrlState()
  if (filtered) {
    return (
      <Empty
        filtered
        title="No cluster is like that"
        actions={
          <Button variant="link" onClick={() => set(withoutFilters())}>
            Clear all filters
          </Button>
        }
      >
        There may be clusters without these filters{organization ? `, or outside of ${organization}` : ''}.
      </Empty>
    )
  }
  return (
    <Empty
      title={organization ? `${organization} has no clusters yet` : 'There are no clusters yet'}
      actions={<Begin />}
    >
      Create one here, which takes seconds, or import one that runs elsewhere.
    </Empty>
  )
}
