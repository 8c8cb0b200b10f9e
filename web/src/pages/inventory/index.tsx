import { useUrlState } from '../../app/urlstate'
import { commandOf, pathOf, queryOf, type ViewName, viewOf, views } from '../../logic/inventory'
import { FromCli } from '../../ui/fromcli'
import { PageHead } from '../../ui/page'
import { Tabs } from '../../ui/tabs'
import { Digests } from './digests'
import { Export } from './export'
import { Filters } from './filters'
import './inventory.css'
import { shellWord } from '../../logic/shell'
import { panes } from './panes'
import { TimeBar } from './timebar'

const names = Object.keys(views) as ViewName[]

export default function Page() {
  const [search] = useUrlState()
  const view = viewOf(search)
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
      <TimeBar view={view} />
      <Tabs
        label="Views of the inventory"
        parameter="view"
        forget={['search']}
        tabs={names.map((name) => ({ key: name, title: views[name].name, content: () => <View name={name} /> }))}
      />
    </>
  )
}

function View({ name }: { name: ViewName }) {
  const Pane = panes[name]
  return (
    <div className="kq-inventory-pane">
      <p className="kq-quiet">{views[name].about}</p>
      <Filters view={name} />
      <Pane />
    </div>
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
          command: `kqueen inventory who-runs nginx:1.27 ${search.org ? `--org ${shellWord(search.org)}` : '-A'}`,
        },
      ]}
      calls={[{ method: 'GET', path: pathOf(view, queryOf(view, { ...search, cursor: undefined }, 50)) }]}
    />
  )
}
