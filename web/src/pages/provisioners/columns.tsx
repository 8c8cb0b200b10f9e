import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { Me } from '../../api/client'
import type { Provisioner } from '../../api/objects'
import { mayChange, ownerOf } from '../../logic/drivers'
import { may } from '../../logic/roles'
import { Age } from '../../ui/age'
import type { Column } from '../../ui/datatable'
import { HealthAndWhy } from '../../ui/health'
import { RowActions } from '../../ui/rowactions'
import { credentialsQuery } from './requests'

interface Of {
  me: Me
  sort: string
  order: (by: string) => void
  remove: (p: Provisioner) => void
}

/** columnsOf are the columns of a list of provisioners. It is pure. */
export function columnsOf({ me, sort, order, remove }: Of): Column<Provisioner>[] {
  const permission = (p: Provisioner) => mayChange(p, may(me, p.organization, 'owner'))
  return [
    {
      name: 'Name',
      sort: { by: 'name', now: sort, set: order },
      cell: (p) => (
        <Link to="/provisioners" search={(before) => ({ org: before.org, name: p.name, of: p.organization })}>
          {p.name}
        </Link>
      ),
    },
    { name: 'Driver', cell: (p) => p.spec?.driver },
    { name: 'Owner', cell: (p) => ownerOf(p) },
    { name: 'Health', cell: (p) => <HealthAndWhy of={p} />, width: 30 },
    { name: 'Credentials', cell: (p) => <Credentials of={p} isOwner={permission(p).allowed} /> },
    { name: 'Created', sort: { by: 'createdAt', now: sort, set: order }, cell: (p) => <Age at={p.createdAt} /> },
    {
      name: 'Actions',
      width: 10,
      cell: (p) => (
        <RowActions
          of={p.name}
          actions={[{ name: 'Delete', isDanger: true, permission: permission(p), run: () => remove(p) }]}
        />
      ),
    },
  ]
}

function Credentials({ of, isOwner }: { of: Provisioner; isOwner: boolean }) {
  const wanted = of.status?.driver?.credentials ?? []
  const asks = wanted.length > 0 && isOwner && !!of.organization
  const keys = useQuery({
    ...credentialsQuery({ organization: of.organization ?? '', provisioner: of.name }),
    enabled: asks,
  })
  if (wanted.length === 0) return 'none needed'
  if (!asks) return `takes ${wanted.map((c) => c.key).join(', ')}`
  if (keys.isError) return 'not known'
  if (!keys.data) return '…'
  const set = keys.data.keys ?? []
  const missing = wanted.filter((c) => !c.optional && !set.includes(c.key))
  if (missing.length > 0) return <span className="kq-wrap">missing: {missing.map((c) => c.key).join(', ')}</span>
  return <span className="kq-wrap">{set.length > 0 ? `set: ${set.join(', ')}` : 'not set, optional'}</span>
}
