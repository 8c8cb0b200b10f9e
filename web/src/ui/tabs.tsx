import { PageSection, Tabs as PatternFlyTabs, Skeleton, Tab, TabTitleText } from '@patternfly/react-core'
import { type ReactNode, Suspense, useEffect, useId } from 'react'
import { useUrlState } from '../app/urlstate'

interface TabOf {
  key: string
  title: string
  content: () => ReactNode
}

interface TabsProps {
  label: string
  tabs: TabOf[]
  /** Under which name the URL has the tab; the first one is not in it. */
  parameter?: string
  /** What is chosen in one tab and says nothing in another one. */
  forget?: readonly string[]
}

/** Tabs shows one of several parts of a page. Which one is in the URL. */
export function Tabs({ label, tabs, parameter = 'tab', forget = [] }: TabsProps) {
  const id = useId()
  const [state, set] = useUrlState()
  const now = tabs.find((tab) => tab.key === state[parameter]) ?? tabs[0]
  useShown(id, now?.key)
  if (!now) return null
  const choose = (key: string) => {
    const gone = Object.fromEntries(forget.map((name) => [name, undefined]))
    set({ ...gone, cursor: undefined, [parameter]: key === tabs[0]?.key ? undefined : key })
  }
  return (
    <>
      <PageSection type="tabs">
        <PatternFlyTabs
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
        </PatternFlyTabs>
      </PageSection>
      <PageSection id={`${id}-content`} role="tabpanel" aria-label={now.title} key={now.key}>
        <Suspense fallback={<Skeleton screenreaderText="Loading" height="12rem" />}>{now.content()}</Suspense>
      </PageSection>
    </>
  )
}

/** PatternFly measures the line below the chosen tab before the fonts are there, and on a phone the tab may be out of sight. */
function useShown(id: string, key: string | undefined) {
  useEffect(() => {
    let left = false
    void document.fonts?.ready.then(() => {
      if (left || key === undefined) return
      dispatchEvent(new Event('resize'))
      document
        .getElementById(id)
        ?.querySelector('[aria-selected="true"]')
        ?.scrollIntoView({ block: 'nearest', inline: 'center', behavior: 'instant' })
    })
    return () => {
      left = true
    }
  }, [id, key])
}
