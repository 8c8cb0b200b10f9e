import { Breadcrumb, BreadcrumbItem, Flex, FlexItem, PageSection, Title } from '@patternfly/react-core'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import type { LiveState } from '../api/live'
import { readable } from '../logic/foreign'
import { foreign } from './foreign'
import { LiveMark } from './livemark'

interface PageHeadProps {
  title: string
  /** What the page is for, in a sentence. */
  about?: ReactNode
  /** Pages above this one. */
  above?: { to: string; name: string }[]
  /** Beside the title, such as how an object is. */
  mark?: ReactNode
  live?: LiveState
  actions?: ReactNode
}

/** PageHead is the top of every page. */
export function PageHead({ title: given, about, above, mark, live, actions }: PageHeadProps) {
  const title = readable(given)
  useEffect(() => {
    document.title = `${title} – KQueen`
  }, [title])
  return (
    <PageSection>
      {above && (
        <Breadcrumb>
          {above.map((page) => (
            <BreadcrumbItem key={page.to}>
              <Link to={page.to as '/'} search={(before) => ({ org: before.org })}>
                {readable(page.name)}
              </Link>
            </BreadcrumbItem>
          ))}
          <BreadcrumbItem isActive>{title}</BreadcrumbItem>
        </Breadcrumb>
      )}
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }} alignItems={{ default: 'alignItemsFlexStart' }}>
        <FlexItem className="kq-head">
          <div className="kq-row">
            <Title headingLevel="h1" size="2xl" className="kq-wrap">
              {title}
            </Title>
            {mark}
            {live && <LiveMark state={live} />}
          </div>
          {about && <p className="kq-quiet">{foreign(about, true)}</p>}
        </FlexItem>
        {actions && (
          <FlexItem>
            <div className="kq-row">{actions}</div>
          </FlexItem>
        )}
      </Flex>
    </PageSection>
  )
}
