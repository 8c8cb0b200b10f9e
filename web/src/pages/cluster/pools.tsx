import { Button, Flex, FlexItem, Title } from '@patternfly/react-core'
import { type ReactNode, useState } from 'react'
import { api, ok } from '../../api/client'
import type { NodePool } from '../../api/objects'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { count } from '../../logic/quantity'
import { may, type Permission } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { FormDialog } from '../../ui/formdialog'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { HealthLabel } from '../../ui/health'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { type Of, useAskAgain, usePools } from './data'
import type { TabProps } from './index'
import { CreatePool } from './poolcreate'
import { ScalePool } from './poolscale'

type Open = { what: 'create' } | { what: 'scale' | 'delete'; pool: NodePool }

/** Pools are the node pools of a cluster. */
export function Pools({ of, cluster, mark }: TabProps & { mark: ReactNode }) {
  const [open, setOpen] = useState<Open>()
  const [, set] = useUrlState()
  const permission = may(useMe(), of.organization, 'operator')
  const query = usePools(of)
  const rows = query.data?.pages.flatMap((page) => page.items)
  const close = () => setOpen(undefined)
  const create = (
    <Guarded permission={permission} onClick={() => setOpen({ what: 'create' })}>
      Create a node pool
    </Guarded>
  )
  return (
    <section aria-labelledby="pools">
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <FlexItem>
          <Title headingLevel="h2" id="pools">
            Node pools {mark}
          </Title>
        </FlexItem>
        <Flex spaceItems={{ default: 'spaceItemsSm' }}>
          {create}
          <Cli of={of} pool={rows?.[0]?.name ?? 'POOL'} />
        </Flex>
      </Flex>
      <ProblemAlert error={query.error} again={() => void query.refetch()} />
      {!query.error && (
        <DataTable
          label="Node pools"
          columns={columnsOf(permission, setOpen, (pool) => set({ pool, cursor: undefined }))}
          rows={rows}
          keyOf={(pool) => pool.uid}
          empty={
            <Empty title="This cluster has no node pool" actions={create}>
              Nothing runs in it before it has nodes, its addons neither.
            </Empty>
          }
        />
      )}
      {query.hasNextPage && (
        <Button variant="link" isLoading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
          Show more node pools
        </Button>
      )}
      {open?.what === 'create' && <CreatePool of={of} cluster={cluster} close={close} />}
      {open?.what === 'scale' && <ScalePool pool={open.pool} close={close} />}
      {open?.what === 'delete' && <DeletePool pool={open.pool} close={close} />}
    </section>
  )
}

function columnsOf(
  permission: Permission,
  open: (o: Open) => void,
  choose: (pool: string) => void,
): Column<NodePool>[] {
  return [
    {
      name: 'Name',
      cell: (pool) => (
        <Button variant="link" isInline onClick={() => choose(pool.name)} title="Show the nodes of this pool">
          {pool.name}
        </Button>
      ),
      modifier: 'breakWord',
    },
    { name: 'Health', cell: (pool) => <HealthLabel of={pool} /> },
    { name: 'Ready', cell: (pool) => ready(pool) },
    { name: 'Bounds', cell: (pool) => boundsInWords(pool) },
    { name: 'Autoscaling', cell: (pool) => autoscalingInWords(pool) },
    { name: 'Version', cell: (pool) => pool.spec?.version ?? 'that of the cluster' },
    { name: 'Provider', cell: (pool) => pool.spec?.template?.provider },
    { name: 'Age', cell: (pool) => <Age at={pool.createdAt} />, modifier: 'nowrap' },
    {
      name: 'Actions',
      cell: (pool) => (
        <Flex spaceItems={{ default: 'spaceItemsSm' }}>
          <Guarded
            permission={whileThere(pool, permission)}
            size="sm"
            variant="secondary"
            onClick={() => open({ what: 'scale', pool })}
            aria-label={`Scale ${pool.name}`}
          >
            Scale
          </Guarded>
          <Guarded
            permission={whileThere(pool, permission)}
            size="sm"
            variant="link"
            isDanger
            onClick={() => open({ what: 'delete', pool })}
            aria-label={`Delete ${pool.name}`}
          >
            Delete
          </Guarded>
        </Flex>
      ),
    },
  ]
}

function whileThere(pool: NodePool, permission: Permission): Permission {
  if (!permission.allowed || !pool.deletionRequestedAt) return permission
  return { allowed: false, why: 'The node pool is being deleted already.' }
}

function ready(pool: NodePool): string {
  return `${pool.status?.readyReplicas ?? 0} of ${pool.spec?.replicas ?? 1}`
}

function boundsInWords(pool: NodePool): string {
  const { minReplicas: min, maxReplicas: max } = pool.spec ?? {}
  if (min === undefined && max === undefined) return 'none'
  if (max === undefined) return `at least ${min}`
  return min === undefined ? `at most ${max}` : `${min} to ${max}`
}

/** autoscalingInWords says what was decided of a pool that follows the need of pods. */
function autoscalingInWords(pool: NodePool): string {
  if (!pool.spec?.autoscaling) return 'off'
  const { lastScale, message, pendingPods = [] } = pool.status?.autoscaling ?? {}
  const pending = pendingPods.map((pod) => `pod ${pod.name}: ${pod.message}`)[0]
  return [message, pending, lastScale].filter(Boolean).join('; ') || 'on'
}

function DeletePool({ pool, close }: { pool: NodePool; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const run = async () => {
    const path = { organization: pool.organization ?? '', nodePool: pool.name }
    await ok(
      api.DELETE('/api/v1/organizations/{organization}/nodepools/{nodePool}', {
        params: { path, header: { 'If-Match': '*' } },
      }),
    )
    tell(`Node pool ${pool.name} is being deleted`)
    askAgain()
  }
  return (
    <FormDialog
      isDanger
      title={`Delete node pool ${pool.name}?`}
      act="Delete the node pool"
      typed={pool.name}
      run={run}
      close={close}
    >
      <p>
        Its {count(pool.status?.replicas ?? 0, 'node')} are deleted. Pods leave a node before it is removed; they run on
        only if other pools have room. What is only on the nodes is lost, volumes on their disks among it.
      </p>
    </FormDialog>
  )
}

function Cli({ of, pool }: { of: Of; pool: string }) {
  const org = `--org ${shellWord(of.organization)}`
  const path = `/api/v1/organizations/${of.organization}`
  return (
    <FromCli
      lines={[
        {
          about: 'List the node pools and the nodes',
          command: `kqueen nodepool list --cluster ${shellWord(of.cluster)} ${org}`,
        },
        { about: 'and the nodes', command: `kqueen node list --cluster ${shellWord(of.cluster)} ${org}` },
        {
          about: 'Create a node pool',
          command: `kqueen nodepool create NAME --cluster ${shellWord(of.cluster)} --nodes 2 ${org} --wait`,
        },
        { about: 'Scale one', command: `kqueen nodepool scale ${shellWord(pool)} --nodes 3 ${org}` },
        {
          about: 'Have the need of pods scale one',
          command: `kqueen nodepool autoscale ${shellWord(pool)} --min 0 --max 5 ${org}`,
        },
        { about: 'Delete one', command: `kqueen nodepool delete ${shellWord(pool)} ${org}` },
        { about: 'Replace a node', command: `kqueen node replace NODE ${org} --wait` },
      ]}
      calls={[
        { method: 'GET', path: `${path}/nodepools?cluster=${of.cluster}` },
        {
          method: 'POST',
          path: `${path}/nodepools`,
          body: { name: 'NAME', spec: { clusterName: of.cluster, replicas: 2 } },
        },
        { method: 'GET', path: `${path}/machines?cluster=${of.cluster}` },
      ]}
    />
  )
}
