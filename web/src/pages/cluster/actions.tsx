import { FlexItem } from '@patternfly/react-core'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { isAdopted } from '../../logic/cluster'
import { count } from '../../logic/quantity'
import { allowed, may, type Permission } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { FormDialog } from '../../ui/formdialog'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { useTell } from '../../ui/toasts'
import { useAskAgain, usePools } from './data'
import type { TabProps } from './index'
import { Sleep, SleepOrWake } from './sleep'
import { UpgradeTo } from './upgrade'

/** Actions are in the head of the page of a cluster. */
export function Actions({ of, cluster }: TabProps) {
  const [open, setOpen] = useState<'upgrade' | 'delete' | 'sleep'>()
  const permission = may(useMe(), of.organization, 'operator')
  const close = () => setOpen(undefined)
  const [, setPage] = useUrlState()
  const follow = () => {
    close()
    setPage({ tab: 'upgrades' })
  }
  const { organization, cluster: name } = of
  const flags = `${shellWord(name)} --org ${shellWord(organization)}`
  const path = `/api/v1/organizations/${organization}/clusters/${name}`
  const adopted = isAdopted(cluster)
  const whileThere: Permission = cluster.deletionRequestedAt
    ? { allowed: false, why: 'The cluster is being deleted already.' }
    : allowed
  const both = permission.allowed ? whileThere : permission
  return (
    <>
      {!adopted && (
        <FlexItem>
          <Guarded permission={both} variant="secondary" onClick={() => setOpen('upgrade')}>
            Upgrade
          </Guarded>
        </FlexItem>
      )}
      {!adopted && (
        <FlexItem>
          <SleepOrWake of={of} cluster={cluster} permission={both} sleep={() => setOpen('sleep')} />
        </FlexItem>
      )}
      <FromCli
        lines={[
          { about: 'Details of the cluster', command: `kqueen cluster describe ${flags}` },
          { about: 'Follow its events', command: `kqueen cluster events ${flags} --watch` },
          ...(adopted ? [] : hosted(flags)),
          { about: 'Delete it', command: `kqueen cluster delete ${flags}` },
        ]}
        calls={[
          { method: 'GET', path },
          { method: 'GET', path: `/api/v1/organizations/${organization}/operations?cluster=${name}` },
        ]}
      />
      <FlexItem>
        <Guarded permission={both} variant="danger" onClick={() => setOpen('delete')}>
          Delete
        </Guarded>
      </FlexItem>
      {open === 'upgrade' && <UpgradeTo of={of} cluster={cluster} done={follow} close={close} />}
      {open === 'sleep' && <Sleep of={of} close={close} />}
      {open === 'delete' && <Delete of={of} cluster={cluster} close={close} />}
    </>
  )
}

function hosted(flags: string) {
  return [
    { about: 'Upgrade it: name a newer release', command: `kqueen cluster upgrade ${flags} --to VERSION` },
    { about: 'Put it to sleep', command: `kqueen cluster sleep ${flags}` },
    {
      about: 'Have it sleep whenever it is idle, or at night',
      command: `kqueen cluster sleep ${flags} --when-idle 30m --window "0 20 * * MON-FRI=11h"`,
    },
    { about: 'Wake it', command: `kqueen cluster wake ${flags}` },
    { about: 'Its nodes', command: `kqueen node list --cluster ${flags}` },
  ]
}

function Delete({ of, cluster, close }: TabProps & { close: () => void }) {
  const tell = useTell()
  const navigate = useNavigate()
  const askAgain = useAskAgain()
  const adopted = isAdopted(cluster)
  const run = async () => {
    await ok(
      api.DELETE('/api/v1/organizations/{organization}/clusters/{cluster}', {
        params: { path: of, header: { 'If-Match': '*' } },
      }),
    )
    tell(adopted ? `KQueen forgets cluster ${of.cluster}` : `Cluster ${of.cluster} is being deleted`)
    askAgain()
    if (adopted)
      void navigate({ to: '/clusters', search: (before: { org?: string }) => ({ org: before.org }) as never })
  }
  return (
    <FormDialog
      isDanger
      title={`Delete cluster ${of.cluster}?`}
      act="Delete the cluster"
      typed={of.cluster}
      run={run}
      close={close}
    >
      {adopted ? (
        <p>
          The cluster was adopted: it stays as it is where it was created, with all that runs in it. KQueen forgets it,
          the credentials that were set for it, and lets nobody in any more.
        </p>
      ) : (
        <Losses of={of} cluster={cluster} />
      )}
    </FormDialog>
  )
}

function Losses({ of }: TabProps) {
  const pools = usePools(of).data?.pages.flatMap((page) => page.items) ?? []
  const nodes = pools.reduce((sum, pool) => sum + (pool.status?.replicas ?? 0), 0)
  const names = pools.map((pool) => pool.name).join(', ')
  return (
    <>
      <p>This cannot be undone. What is lost:</p>
      <ul className="pf-v6-c-list">
        <li>the control plane, and every object in it</li>
        <li className="kq-wrap">
          {pools.length === 0
            ? 'all its nodes'
            : `${count(nodes, 'node')} of ${count(pools.length, 'node pool')}: ${names}`}
        </li>
        <li>the volumes on the disks of these nodes</li>
        <li>every kubeconfig of the cluster: it does not work any more</li>
      </ul>
    </>
  )
}
