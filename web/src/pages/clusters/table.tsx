import { Checkbox, Label, Tooltip } from '@patternfly/react-core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Cluster } from '../../api/objects'
import { useMe } from '../../app/queries'
import { readable } from '../../logic/foreign'
import { may } from '../../logic/roles'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { HealthAndWhy } from '../../ui/health'
import { Simulated, simulatedLabel } from '../../ui/simulated'

export type Chosen = Record<string, Cluster>

interface ClusterTableProps {
  rows: Cluster[] | undefined
  sort: { now: string; set: (by: string) => void }
  chosen: Chosen
  setChosen: (chosen: Chosen) => void
  empty: ReactNode
}

export function ClusterTable({ rows, sort, chosen, setChosen, empty }: ClusterTableProps) {
  const columns: Column<Cluster>[] = [
    {
      name: 'Choose',
      cell: (row) => <Choose row={row} chosen={chosen} setChosen={setChosen} />,
      width: 10,
    },
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
  return <DataTable label="Clusters" columns={columns} rows={rows} keyOf={(row) => row.uid} empty={empty} />
}

function Choose({ row, chosen, setChosen }: { row: Cluster; chosen: Chosen; setChosen: (chosen: Chosen) => void }) {
  const permission = may(useMe(), row.organization, 'operator')
  const { [row.uid]: _, ...others } = chosen
  const box = (
    <Checkbox
      id={`choose-${row.uid}`}
      aria-label={`Choose ${row.organization}/${row.name}`}
      isChecked={row.uid in chosen}
      isDisabled={!permission.allowed}
      onChange={(_event, is) => setChosen(is ? { ...others, [row.uid]: row } : others)}
    />
  )
  return permission.allowed ? (
    box
  ) : (
    <Tooltip content={permission.why}>
      <span>{box}</span>
    </Tooltip>
  )
}

function Name({ of }: { of: Cluster }) {
  const params = { organization: of.organization ?? '', cluster: of.name }
  return (
    <>
      <Link
        to="/organizations/$organization/clusters/$cluster"
        params={params}
        search={(before) => ({ org: before.org })}
      >
        {of.name}
      </Link>{' '}
      <Simulated of={of} />
    </>
  )
}

/** The version that the cluster has and, while it is being raised, that which it will have. */
function versionOf({ spec, status }: Cluster) {
  if (status?.version && spec?.version && status.version !== spec.version) return `${status.version} → ${spec.version}`
  return status?.version ?? spec?.version ?? '–'
}

function Labels({ labels }: { labels?: Record<string, string> }) {
  const all = Object.entries(labels ?? {})
    .filter(([key]) => key !== simulatedLabel) // beside the name
    .map(([key, value]) => readable(value ? `${key}=${value}` : key))
  if (all.length === 0) return '–'
  const rest = all.slice(2)
  return (
    <div>
      {all.slice(0, 2).map((text) => (
        <Label key={text} isCompact textMaxWidth="16ch">
          {text}
        </Label>
      ))}
      {rest.length > 0 && (
        <Tooltip content={<span className="kq-wrap">{rest.join(', ')}</span>}>
          <Label isCompact variant="outline" tabIndex={0} aria-label={`${rest.length} more labels: ${rest.join(', ')}`}>
            +{rest.length}
          </Label>
        </Tooltip>
      )}
    </div>
  )
}
