import { Flex, FlexItem, Title } from '@patternfly/react-core'
import type { ReactNode } from 'react'

/** Part is a piece of a page, with a heading and what can be done. */
export function Part({
  title,
  about,
  actions,
  children,
}: {
  title: string
  about?: ReactNode
  actions?: ReactNode
  children: ReactNode
}) {
  return (
    <section>
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }} alignItems={{ default: 'alignItemsFlexStart' }}>
        <FlexItem className="kq-head">
          <Title headingLevel="h2" size="lg" className="kq-wrap">
            {title}
          </Title>
          {about && <p className="kq-quiet kq-small">{about}</p>}
        </FlexItem>
        {actions && (
          <FlexItem>
            <div className="kq-row">{actions}</div>
          </FlexItem>
        )}
      </Flex>
      <br />
      {children}
    </section>
  )
}
