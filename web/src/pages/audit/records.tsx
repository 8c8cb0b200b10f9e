import { Button, Flex, Label, Skeleton } from '@patternfly/react-core'
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon'
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon'
import LockIcon from '@patternfly/react-icons/dist/esm/icons/lock-icon'
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon'
import SyncAltIcon from '@patternfly/react-icons/dist/esm/icons/sync-alt-icon'
import { ExpandableRowContent, Table, Tbody, Td, Th, Thead, Tr } from '@patternfly/react-table'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok, type Schemas } from '../../api/client'
import type { AuditQuery } from '../../logic/auditquery'
import { Age } from '../../ui/age'
import { Empty } from '../../ui/empty'
import { Foreign } from '../../ui/foreign'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'
import { Detail } from './detail'

type Record = Schemas['AuditRecord']

function read(organization: string | undefined, query: AuditQuery) {
  if (organization === undefined) return ok(api.GET('/api/v1/audit', { params: { query } }))
  return ok(api.GET('/api/v1/organizations/{organization}/audit', { params: { path: { organization }, query } }))
}

/** Records shows a page of the log. Records do not change: the page is asked again when one asks. */
export function Records({ organization, query }: { organization?: string; query: AuditQuery }) {
  const page = useQuery({
    queryKey: ['auditrecords', organization ?? '', query],
    queryFn: () => read(organization, query),
  })
  const { limit: _, cursor, ...filters } = query
  const rows = page.data && (page.data.items ?? [])
  return (
    <>
      <ProblemAlert error={page.error} again={() => void page.refetch()} />
      <Flex alignItems={{ default: 'alignItemsCenter' }} spaceItems={{ default: 'spaceItemsSm' }}>
        <Button
          variant="plain"
          size="sm"
          icon={<SyncAltIcon />}
          aria-label="Read the log again"
          isLoading={page.isFetching}
          onClick={() => void page.refetch()}
        />
        <span className="kq-quiet kq-small">
          Read{' '}
          {page.dataUpdatedAt > 0 ? <Age at={new Date(page.dataUpdatedAt).toISOString()} /> : <span>just now</span>}
        </span>
      </Flex>
      {rows?.length === 0 ? (
        <Empty
          title={Object.keys(filters).length > 0 || cursor ? 'Nothing fits the filters' : 'Nothing was done yet'}
          filtered
        >
          Every change that somebody makes, and every refusal, appears here.
        </Empty>
      ) : (
        page.error === null && <List rows={rows} withOrganization={organization === undefined} />
      )}
      <Pager next={page.data?.cursor} />
    </>
  )
}

function List({ rows, withOrganization }: { rows?: Record[]; withOrganization: boolean }) {
  const columns = ['When', 'Who', 'Action', 'Object', ...(withOrganization ? ['Organization'] : []), 'Outcome']
  return (
    <Table aria-label="Audit log" variant="compact" gridBreakPoint="grid-md">
      <Thead>
        <Tr>
          <Th screenReaderText="Detail" />
          {columns.map((name) => (
            <Th key={name}>{name}</Th>
          ))}
        </Tr>
      </Thead>
      {rows?.map((row, i) => <Row key={row.sequence} of={row} index={i} columns={columns} />) ?? (
        <Tbody>
          {['a', 'b', 'c', 'd', 'e'].map((row) => (
            <Tr key={row}>
              <Td colSpan={columns.length + 1}>
                <Skeleton screenreaderText="Loading" />
              </Td>
            </Tr>
          ))}
        </Tbody>
      )}
    </Table>
  )
}

function Row({ of, index, columns }: { of: Record; index: number; columns: string[] }) {
  const [open, setOpen] = useState(false)
  return (
    <Tbody isExpanded={open}>
      <Tr isContentExpanded={open}>
        <Td
          expand={{
            rowIndex: index,
            isExpanded: open,
            onToggle: () => setOpen(!open),
            expandId: `record-${of.sequence}-`,
          }}
        />
        <Td dataLabel="When" modifier="nowrap">
          <Age at={of.time} />
        </Td>
        <Td dataLabel="Who" modifier="breakWord">
          <Foreign text={of.actor.name || of.actor.kind} />
          {of.actor.kind !== 'user' && of.actor.name && <div className="kq-quiet kq-small">{of.actor.kind}</div>}
        </Td>
        <Td dataLabel="Action" modifier="breakWord">
          {of.action}
        </Td>
        <Td dataLabel="Object" modifier="breakWord">
          <Foreign text={[of.object.kind, of.object.name].filter(Boolean).join(' ')} none="–" />
        </Td>
        {columns.includes('Organization') && (
          <Td dataLabel="Organization" modifier="breakWord">
            {of.organization || 'installation'}
          </Td>
        )}
        <Td dataLabel="Outcome">
          <Outcome of={of} />
        </Td>
      </Tr>
      <Tr isExpanded={open}>
        <Td colSpan={columns.length + 1}>
          <ExpandableRowContent>{open && <Detail of={of} />}</ExpandableRowContent>
        </Td>
      </Tr>
    </Tbody>
  )
}

const looks = {
  succeeded: { status: 'success', icon: <CheckCircleIcon /> },
  denied: { status: 'warning', icon: <LockIcon /> },
  failed: { status: 'danger', icon: <ExclamationCircleIcon /> },
  unknown: { status: 'info', icon: <QuestionCircleIcon /> },
} as const

function Outcome({ of }: { of: Record }) {
  const look = looks[of.outcome as keyof typeof looks] ?? looks.unknown
  return (
    <>
      <Label isCompact status={look.status} icon={look.icon}>
        {of.outcome}
      </Label>
      {of.outcome !== 'succeeded' && of.reason && (
        <div className="kq-quiet kq-small">
          <Foreign text={of.reason} />
        </div>
      )}
    </>
  )
}
