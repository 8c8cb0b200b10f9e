import { EmptyState, EmptyStateActions, EmptyStateBody, EmptyStateFooter } from '@patternfly/react-core'
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon'
import SearchIcon from '@patternfly/react-icons/dist/esm/icons/search-icon'
import type { ReactNode } from 'react'
import { readable } from '../logic/foreign'

interface EmptyProps {
  title: string
  children?: ReactNode
  /** What leads on. */
  actions?: ReactNode
  /** Filters are set: there may be more without them. */
  filtered?: boolean
}

export function Empty({ title, children, actions, filtered }: EmptyProps) {
  return (
    <EmptyState titleText={readable(title)} headingLevel="h2" icon={filtered ? SearchIcon : CubesIcon} variant="sm">
      {children && <EmptyStateBody>{children}</EmptyStateBody>}
      {actions && (
        <EmptyStateFooter>
          <EmptyStateActions>{actions}</EmptyStateActions>
        </EmptyStateFooter>
      )}
    </EmptyState>
  )
}
