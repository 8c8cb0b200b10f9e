import { Button, Flex } from '@patternfly/react-core'
import AngleRightIcon from '@patternfly/react-icons/dist/esm/icons/angle-right-icon'
import { useUrlState } from '../app/urlstate'

/** Pager leads through the pages of a list, which lead to the next one by a cursor; back is the browser's. */
export function Pager({ next }: { next?: string }) {
  const [state, set] = useUrlState()
  if (!next && !state.cursor) return null
  return (
    <Flex justifyContent={{ default: 'justifyContentFlexEnd' }}>
      {state.cursor && (
        <Button variant="link" onClick={() => set({ cursor: undefined })}>
          First page
        </Button>
      )}
      <Button
        variant="secondary"
        icon={<AngleRightIcon />}
        iconPosition="end"
        isDisabled={!next}
        onClick={() => set({ cursor: next })}
      >
        Next page
      </Button>
    </Flex>
  )
}
