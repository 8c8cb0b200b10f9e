import { PageSection, Tab, Tabs, TabTitleText } from '@patternfly/react-core'
import { useEffect } from 'react'
import { useUrlState } from '../../app/urlstate'
import { commandOf, pathOf, queryOf, type ViewName, viewOf, views } from '../../logic/inventory'
import { FromCli } from '../../ui/fromcli'
import { PageHead } from '../../ui/page'
import { Digests } from './digests'
import { Export } from './export'
import { Filters } from './filters'
import './inventory.css'
import { panes } from './panes'
import { TimeBar } from './timebar'

const names = Object.keys(views) as ViewName[]

/** The line below the chosen tab is measured before the fonts are there, and a tab may be out of sight on a phone. */
function useSeenTab(view: ViewName) {
  useEffect(() => {
    void document.fonts?.ready.then(() => {
      dispatchEvent(new Event('resize'))
      document
        .querySelector(`[aria-controls="inventory-${view}"]`)
        ?.scrollIntoView({ block: 'nearest', inline: 'center' })
    })
  }, [view])
}

export default function Page() {
  const [search, set] = useUrlState()
  const view = viewOf(search)
  useSeenTab(view)
  const Pane = panes[view]
  return (
    <>
      <PageHead
        title="Inventory"
        about="Which images, binaries and objects run in all clusters: now, at an earlier time, or what changed between two."
        actions={
          <>
            <Digests />
            <Export view={view} />
            <Cli view={view} />
          </>
        }
      />
      <PageSection>
        <TimeBar view={view} />
        <Tabs
          activeKey={view}
          onSelect={(_, key) => set({ view: String(key), cursor: undefined, search: undefined })}
          aria-label="Views of the inventory"
          className="kq-inventory-tabs"
        >
          {names.map((name) => (
            <Tab
              key={name}
              eventKey={name}
              title={<TabTitleText>{views[name].name}</TabTitleText>}
              tabContentId={`inventory-${name}`}
            />
          ))}
        </Tabs>
        <section
          id={`inventory-${view}`}
          role="tabpanel"
          aria-label={views[view].name}
          key={view}
          className="kq-inventory-pane"
        >
          <p className="kq-quiet">{views[view].about}</p>
          <Filters view={view} />
          <Pane />
        </section>
      </PageSection>
    </>
  )
}

function Cli({ view }: { view: ViewName }) {
  const [search] = useUrlState()
  return (
    <FromCli
      lines={[
        { about: `${views[view].name}, as they are chosen here.`, command: commandOf(view, search) },
        { about: 'All rows as CSV.', command: `${commandOf(view, search)} -o csv` },
        {
          about: 'Who runs an image.',
          command: `kqueen inventory who-runs nginx:1.27 ${search.org ? `--org ${search.org}` : '-A'}`,
        },
      ]}
      calls={[{ method: 'GET', path: pathOf(view, queryOf(view, { ...search, cursor: undefined }, 50)) }]}
    />
  )
}
