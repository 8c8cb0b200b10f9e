import { Alert, Flex, FlexItem, Stack, Title } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { condition } from '../../api/objects'
import { addonsQuery } from '../../app/catalogue'
import { useMe } from '../../app/queries'
import { withAddon, withoutAddon } from '../../logic/cluster'
import { may, type Permission } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { FormDialog } from '../../ui/formdialog'
import { FromCli } from '../../ui/fromcli'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { type AddonChange, addonColumns } from './addoncolumns'
import { changeCluster, useAskAgain } from './data'
import type { TabProps } from './index'

/** Addons are the applications that KQueen runs in the cluster; each can be switched on and off. */
export function Addons({ of, cluster }: TabProps) {
  const [change, setChange] = useState<AddonChange>()
  const role = may(useMe(), of.organization, 'operator')
  const permission: Permission =
    role.allowed && cluster.deletionRequestedAt ? { allowed: false, why: 'The cluster is being deleted.' } : role
  const query = useQuery({
    queryKey: ['addons', of.organization, of.cluster],
    queryFn: () =>
      ok(api.GET('/api/v1/organizations/{organization}/clusters/{cluster}/addons', { params: { path: of } })),
  })
  const catalogue = useQuery(addonsQuery)
  const summaries = new Map(catalogue.data?.map((addon) => [addon.name, addon]))
  return (
    <Stack hasGutter>
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <FlexItem>
          <Title headingLevel="h2">Addons</Title>
          <p className="kq-quiet">Applications that KQueen runs in the cluster, keeps up to date and repairs.</p>
        </FlexItem>
        <Cli organization={of.organization} name={of.cluster} />
      </Flex>
      {condition(cluster, 'AddonsReady')?.reason === 'NoNodePools' && (
        <Alert component="p" isInline variant="info" title="Addons run once the cluster has a node pool">
          Create one in the tab Nodes.
        </Alert>
      )}
      <ProblemAlert error={query.error ?? catalogue.error} again={() => void query.refetch()} />
      {!query.error && (
        <DataTable
          label="Addons"
          columns={addonColumns(permission, summaries, setChange)}
          rows={query.data && (query.data.items ?? [])}
          keyOf={(addon) => addon.name}
          empty={<Empty title="This installation has no addons" />}
        />
      )}
      {change && <Switching of={of} cluster={cluster} change={change} close={() => setChange(undefined)} />}
    </Stack>
  )
}

function Switching({ of, change, close }: TabProps & { change: AddonChange; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const { addon, to } = change
  const did = { on: 'switched on', off: 'switched off', reset: 'reset' }[to]
  const about = {
    on: 'KQueen installs it within seconds, once the cluster has a node.',
    off: 'KQueen deletes its objects within seconds, and what they hold. Its values stay with the cluster, for when it is switched on again.',
    reset:
      'What the cluster says of it is removed, its values too: it is then as the organization says, or else the provisioner or the default.',
  }[to]
  const run = async (dryRun: boolean) => {
    const edit = (settings: Parameters<typeof withAddon>[0]) =>
      to === 'reset' ? withoutAddon(settings, addon.name) : withAddon(settings, addon.name, to === 'on')
    await changeCluster(of, (now) => ({ addons: edit(now.spec?.addons) }), dryRun)
    if (!dryRun) {
      tell(`Addon ${addon.name} of cluster ${of.cluster} is ${did}`)
      askAgain()
    }
    return `Addon ${addon.name} would be ${did}.`
  }
  const title = { on: 'Switch on addon', off: 'Switch off addon', reset: 'Reset addon' }[to]
  const act = { on: 'Switch on', off: 'Switch off', reset: 'Reset' }[to]
  return (
    <FormDialog
      title={`${title} ${addon.name}`}
      about={about}
      act={act}
      check={{ of: to, atOnce: true }}
      run={run}
      close={close}
    />
  )
}

function Cli({ organization, name }: { organization: string; name: string }) {
  const path = `/api/v1/organizations/${organization}/clusters/${name}`
  const flags = `--org ${shellWord(organization)}`
  return (
    <FromCli
      lines={[
        { about: 'List the addons', command: `kqueen cluster addon list ${shellWord(name)} ${flags}` },
        {
          about: 'Switch one on, with a value',
          command: `kqueen cluster addon enable ${shellWord(name)} coredns --set replicas=3 ${flags}`,
        },
        { about: 'Switch one off', command: `kqueen cluster addon disable ${shellWord(name)} metrics-server ${flags}` },
        {
          about: 'Forget what the cluster says of one',
          command: `kqueen cluster addon reset ${shellWord(name)} metrics-server ${flags}`,
        },
      ]}
      calls={[
        { method: 'GET', path: `${path}/addons` },
        { method: 'GET', path: '/api/v1/addons' },
      ]}
    />
  )
}
