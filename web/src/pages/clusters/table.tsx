import { Checkbox } from '@patternfly/react-core'
import { useNavigate, useRouter, useRouterState } from '@tanstack/react-router'
import { createContext, type MouseEvent, type ReactNode, useContext, useMemo, useRef } from 'react'
import type { Cluster } from '../../api/objects'
import { useMe } from '../../app/queries'
import type { Search } from '../../app/urlstate'
import { readable } from '../../logic/foreign'
import { may } from '../../logic/roles'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { HealthAndWhy } from '../../ui/health'
import { Hint } from '../../ui/hint'
import { Mark } from '../../ui/mark'
import { Simulated, simulatedLabel } from '../../ui/simulated'

export type Chosen = Record<string, Cluster>

/** What is chosen reaches the boxes past the rows, which stay as they are. */
const Choice = createContext<{ chosen: Chosen; setChosen: (chosen: Chosen) => void }>({
  chosen: {},
  setChosen: () => {},
})

interface ClusterTableProps {
  rows: Cluster[] | undefined
  sort: string
  setSort: (by: string) => void
  chosen: Chosen
  setChosen: (chosen: Chosen) => void
  empty: ReactNode
}

export function ClusterTable({ rows, sort, setSort, chosen, setChosen, empty }: ClusterTableProps) {
  const columns = useMemo(() => columnsOf({ now: sort, set: setSort }), [sort, setSort])
  const choice = useMemo(() => ({ chosen, setChosen }), [chosen, setChosen])
  return (
    <Choice value={choice}>
      <DataTable label="Clusters" columns={columns} rows={rows} keyOf={(row) => row.uid} empty={empty} />
    </Choice>
  )
}

function columnsOf(sort: { now: string; set: (by: string) => void }): Column<Cluster>[] {
  return [
    { name: 'Choose', cell: (row) => <Choose row={row} />, width: 10 },
    { name: 'Name', cell: (row) => <Name of={row} />, sort: { by: 'name', ...sort }, modifier: 'breakWord', width: 15 },
    { name: 'Organization', cell: (row) => row.organization, modifier: 'breakWord', width: 10 },
    { name: 'Health', cell: (row) => <HealthAndWhy of={row} />, width: 20 },
    { name: 'Version', cell: versionOf, width: 10 },
    { name: 'Provisioner', cell: (row) => row.spec?.provisionerRef?.name, modifier: 'breakWord', width: 10 },
    {
      name: 'Created',
      cell: (row) => <Age at={row.createdAt} />,
      sort: { by: 'createdAt', ...sort },
      modifier: 'nowrap',
      width: 15,
    },
    { name: 'Labels', cell: (row) => <Labels labels={row.labels} /> },
  ]
}

function Choose({ row }: { row: Cluster }) {
  const { chosen, setChosen } = useContext(Choice)
  const permission = may(useMe(), row.organization, 'operator')
  const at = useRef<HTMLSpanElement>(null)
  const { [row.uid]: _, ...others } = chosen
  return (
    <span ref={at}>
      <Checkbox
        id={`choose-${row.uid}`}
        aria-label={`Choose ${row.organization}/${row.name}`}
        isChecked={row.uid in chosen}
        isDisabled={!permission.allowed}
        onChange={(_event, is) => setChosen(is ? { ...others, [row.uid]: row } : others)}
      />
      {!permission.allowed && <Hint of={at} text={permission.why} />}
    </span>
  )
}

/** Name leads to a cluster as a Link of the router does. A Link looks at each change of the address, of which there are many here. */
function Name({ of }: { of: Cluster }) {
  const router = useRouter()
  const navigate = useNavigate()
  const org = useRouterState({ select: (s) => (s.location.search as Search).org })
  const to = {
    to: '/organizations/$organization/clusters/$cluster',
    params: { organization: of.organization ?? '', cluster: of.name },
    search: { org },
  } as const
  const go = (event: MouseEvent) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    event.preventDefault()
    void navigate(to)
  }
  return (
    <>
      <a href={router.buildLocation(to).href} onClick={go} onPointerEnter={() => void router.preloadRoute(to)}>
        {of.name}
      </a>{' '}
      <Simulated of={of} />
    </>
  )
}

/** The version that the cluster has and, while it is being raised, that which it will have. */
function versionOf({ spec, status }: Cluster) {
  if (status?.version && spec?.version && status.version !== spec.version) return `${status.version} → ${spec.version}`
  return status?.version ?? spec?.version ?? '–'
}

/** How many letters of a label a list shows. */
const mostOfLabel = 16

function Labels({ labels }: { labels?: Record<string, string> }) {
  const all = Object.entries(labels ?? {})
    .filter(([key]) => key !== simulatedLabel) // beside the name
    .map(([key, value]) => readable(value ? `${key}=${value}` : key))
  if (all.length === 0) return '–'
  const rest = all.slice(2)
  return (
    <div>
      {all.slice(0, 2).map((text) => (
        <Chip key={text} text={text} about={text.length > mostOfLabel ? text : undefined} />
      ))}
      {rest.length > 0 && (
        <Chip
          text={`+${rest.length}`}
          about={rest.join(', ')}
          label={`${rest.length} more labels: ${rest.join(', ')}`}
        />
      )}
    </div>
  )
}

/** Chip is a label of a cluster, or how many more it has; the keyboard reaches what is not all to be seen. */
function Chip({ text, about, label }: { text: string; about?: string; label?: string }) {
  const at = useRef<HTMLSpanElement>(null)
  return (
    <>
      <Mark
        ref={at}
        variant={label ? 'outline' : 'filled'}
        mostWidth={`${mostOfLabel}ch`}
        {...(about ? { tabIndex: 0, 'aria-label': label } : {})}
      >
        {text}
      </Mark>
      {about && <Hint of={at} text={<span className="kq-wrap">{about}</span>} />}
    </>
  )
}
