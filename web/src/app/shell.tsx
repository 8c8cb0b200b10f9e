import { Alert, Bullseye, Page, PageSection, SkipToContent, Spinner } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { Outlet, useLocation } from '@tanstack/react-router'
import { Suspense, useEffect, useRef, useState } from 'react'
import { ProblemAlert } from '../ui/problem'
import { ToastProvider } from '../ui/toasts'
import { TopBar } from './masthead'
import { SideBar } from './navigation'
import { Palette } from './palette'
import { meQuery } from './queries'

/** Shell is around every page: who is signed in, where one is, and how to get elsewhere. */
export function Shell() {
  const me = useQuery(meQuery)
  const [finding, setFinding] = useState(false)
  useFocusOnNewPage()
  if (me.isPending) {
    return (
      <Bullseye className="kq-whole">
        <Spinner aria-label="Loading" />
      </Bullseye>
    )
  }
  if (!me.data) {
    return (
      <PageSection>
        <ProblemAlert error={me.error} again={() => void me.refetch()} />
      </PageSection>
    )
  }
  return (
    <ToastProvider>
      <Page
        masthead={<TopBar find={() => setFinding(true)} />}
        sidebar={<SideBar />}
        skipToContent={<SkipToContent href="#main">Skip to content</SkipToContent>}
        mainContainerId="main"
        isManagedSidebar
      >
        {me.isError && <Alert isInline variant="warning" title="KQueen does not answer. What you see may be old." />}
        <Suspense fallback={<Loading />}>
          <Outlet />
        </Suspense>
      </Page>
      <Palette isOpen={finding} setOpen={setFinding} />
    </ToastProvider>
  )
}

/** useFocusOnNewPage has the tabulator and screen readers begin with a page that was gone to: what had the focus is not there any more. */
function useFocusOnNewPage() {
  const { pathname } = useLocation()
  const last = useRef(pathname)
  useEffect(() => {
    if (pathname === last.current) return
    last.current = pathname
    document.getElementById('main')?.focus({ preventScroll: true })
  }, [pathname])
}

function Loading() {
  return (
    <PageSection>
      <Spinner aria-label="Loading the page" />
    </PageSection>
  )
}
