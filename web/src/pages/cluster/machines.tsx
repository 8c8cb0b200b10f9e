import { Button, Label, Title } from '@patternfly/react-core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import type { Machine } from '../../api/objects'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { may, type Permission } from '../../logic/roles'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { Foreign } from '../../ui/foreign'
import { FormDialog } from '../../ui/formdialog'
import { Guarded } from '../../ui/guarded'
import { HealthLabel } from '../../ui/health'
import { Pager } from '../../ui/pager'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { useAskAgain } from './data'
import type { TabProps } from './index'

const poolLabel = 'kqueen.io/nodepool'
const isolations = {
  UserNamespace: 'user namespace',
  OwnRoot: 'shares users with the host',
}

/** Machines are the nodes of a cluster, of all pools or of the one that is chosen. */
export function Machines({ of }: TabProps) {
  const [state, set] = useUrlState()
  const [doomed, setDoomed] = useState<Machine>()
  const permission = may(useMe(), of.organization, 'operator')
  const labelSelector = state.pool ? `${poolLabel}=${state.pool}` : undefined
  const query = useQuery({
    queryKey: ['machines', of.organization, of.cluster, labelSelector, state.cursor],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/machines', {
          params: {
            path: { organization: of.organization },
            query: { cluster: of.cluster, labelSelector, limit: 50, cursor: state.cursor },
          },
        }),
      ),
    placeholderData: keepPreviousData,
  })
  return (
    <section aria-labelledby="machines">
      <Title headingLevel="h2" id="machines">
        Nodes{' '}
        {state.pool && (
          <Label onClose={() => set({ pool: undefined })} closeBtnAriaLabel="Show the nodes of all pools">
            of pool {state.pool}
          </Label>
        )}
      </Title>
      <ProblemAlert error={query.error} again={() => void query.refetch()} />
      {!query.error && (
        <DataTable
          label="Nodes"
          columns={columnsOf(permission, setDoomed)}
          rows={query.data?.items}
          keyOf={(machine) => machine.uid}
          empty={
            <Empty
              title={state.pool ? `Pool ${state.pool} has no nodes` : 'This cluster has no nodes'}
              filtered={!!state.pool}
              actions={
                state.pool && (
                  <Button variant="link" onClick={() => set({ pool: undefined })}>
                    Show the nodes of all pools
                  </Button>
                )
              }
            >
              Scale a node pool up, or create one.
            </Empty>
          }
        />
      )}
      <Pager next={query.data?.cursor} />
      {doomed && <Replace machine={doomed} close={() => setDoomed(undefined)} />}
    </section>
  )
}

function columnsOf(permission: Permission, replace: (machine: Machine) => void): Column<Machine>[] {
  return [
    {
      name: 'Node',
      cell: (m) => (
        <>
          <Foreign text={m.name} /> {m.status?.unschedulable && <Label isCompact>cordoned</Label>}
        </>
      ),
      modifier: 'breakWord',
    },
    { name: 'Health', cell: (m) => <HealthLabel of={m} /> },
    { name: 'Pool', cell: (m) => m.labels?.[poolLabel] ?? 'none', modifier: 'breakWord' },
    { name: 'Version', cell: (m) => versions(m) },
    { name: 'Address', cell: (m) => m.status?.address ?? 'none yet', modifier: 'breakWord' },
    { name: 'Isolation', cell: (m) => isolationOf(m), modifier: 'breakWord' },
    { name: 'Age', cell: (m) => <Age at={m.createdAt} />, modifier: 'nowrap' },
    {
      name: 'Actions',
      cell: (m) => (
        <Guarded
          permission={
            m.deletionRequestedAt && permission.allowed
              ? { allowed: false, why: 'It is being removed already.' }
              : permission
          }
          size="sm"
          variant="secondary"
          onClick={() => replace(m)}
          aria-label={`Replace ${m.name}`}
        >
          Replace
        </Guarded>
      ),
    },
  ]
}

function versions(m: Machine): string {
  const has = m.status?.version
  if (!has || has === m.spec?.version) return m.spec?.version ?? ''
  return `${has}, to be ${m.spec?.version}`
}

function isolationOf(m: Machine) {
  if (!m.status?.isolation) return m.spec?.provider === 'local' ? 'not known yet' : 'a host of its own'
  const words = isolations[m.status.isolation as keyof typeof isolations] ?? m.status.isolation
  return m.status.isolationMessage ? `${words} (${m.status.isolationMessage})` : words
}

function Replace({ machine, close }: { machine: Machine; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const pool = machine.labels?.[poolLabel]
  const timeout = machine.spec?.drain?.timeoutSeconds ?? 600
  const run = async () => {
    const path = { organization: machine.organization ?? '', machine: machine.name }
    await ok(
      api.DELETE('/api/v1/organizations/{organization}/machines/{machine}', {
        params: { path, header: { 'If-Match': '*' } },
      }),
    )
    tell(`Node ${machine.name} is being removed${pool ? `; pool ${pool} creates another` : ''}`)
    askAgain()
  }
  return (
    <FormDialog isDanger title={`Replace node ${machine.name}?`} act="Replace the node" run={run} close={close}>
      <p>
        The node is cordoned and its pods are drained; a PodDisruptionBudget may hold them back
        {timeout > 0 ? ` for ${Math.round(timeout / 60)} minutes` : ' without limit'}. Then the node is removed, and
        what is only on its disk is lost.
      </p>
      <p>
        {pool
          ? `Node pool ${pool} creates another node in its place.`
          : 'It is in no node pool: nothing takes its place.'}
      </p>
    </FormDialog>
  )
}
