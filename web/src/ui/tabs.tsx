import { PageSection, Tab, Tabs, TabTitleText } from '@patternfly/react-core'
import { type ReactNode, useId } from 'react'
import { useUrlState } from '../app/urlstate'

export interface TabOf {
  key: string
  title: string
  content: () => ReactNode
}

/** Tabbed shows one of several parts of a page. Which one is in the URL; what was chosen in another part is forgotten. */
export function Tabbed({ label, tabs, forget = [] }: { label: string; tabs: TabOf[]; forget?: string[] }) {
  const id = useId()
  const [state, set] = useUrlState()
  const now = tabs.find((tab) => tab.key === state.tab) ?? tabs[0]
  if (!now) return null
  const choose = (key: string) => {
    const gone = Object.fromEntries(forget.map((name) => [name, undefined]))
    set({ ...gone, cursor: undefined, tab: key === tabs[0]?.key ? undefined : key })
  }
  return (
    <>
      <PageSection type="tabs">
        <Tabs
          aria-label={label}
          activeKey={now.key}
          onSelect={(_, key) => choose(String(key))}
          usePageInsets
          id={id}
          role="region"
        >
          {tabs.map((tab) => (
            <Tab
              key={tab.key}
              eventKey={tab.key}
              title={<TabTitleText>{tab.title}</TabTitleText>}
              tabContentId={`${id}-content`}
            />
          ))}
        </Tabs>
      </PageSection>
      <PageSection id={`${id}-content`} role="tabpanel" aria-label={now.title}>
        {now.content()}
      </PageSection>
    </>
  )
}
