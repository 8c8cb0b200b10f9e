import { Alert, Button, Flex, FlexItem, Stack, ToggleGroup, ToggleGroupItem } from '@patternfly/react-core'
import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { Age } from '../../ui/age'
import { FromCli } from '../../ui/fromcli'
import { Containers } from './containers'
import type { TabProps } from './index'
import { Namespace } from './namespace'
import { WorkloadTable } from './workloadtable'

export type Container = Schemas['InventoryContainer']

/** What can be done with a container, in the last column of its row, such as to see its log. */
export type RowActions = (container: Container) => ReactNode

/** Workloads is what runs in a cluster, by the inventory: it is there also while the cluster does not answer. */
export function Workloads({ of, actions }: TabProps & { actions?: RowActions }) {
  const [state, set] = useUrlState()
  const list = state.list === 'containers' ? 'containers' : 'workloads'
  const scope = `--cluster ${of.cluster} --org ${of.organization}${state.ns ? ` -n ${state.ns}` : ''}`
  const query = `organization=${of.organization}&cluster=${of.cluster}${state.ns ? `&namespace=${state.ns}` : ''}`
  return (
    <Stack hasGutter>
      <Flex>
        <ToggleGroup aria-label="What to list">
          <ToggleGroupItem
            text="Workloads"
            buttonId="list-workloads"
            isSelected={list === 'workloads'}
            onChange={() => set({ list: undefined })}
          />
          <ToggleGroupItem
            text="Containers and images"
            buttonId="list-containers"
            isSelected={list === 'containers'}
            onChange={() => set({ list: 'containers' })}
          />
        </ToggleGroup>
        <Namespace of={of} value={state.ns ?? ''} set={(ns) => set({ ns })} none="All namespaces" />
        {state.ns && (
          <Button variant="link" onClick={() => set({ ns: undefined })}>
            All namespaces
          </Button>
        )}
        <FlexItem align={{ default: 'alignRight' }}>
          <FromCli
            lines={[
              { about: 'Workloads', command: `kqueen inventory workloads ${scope}` },
              { about: 'Containers with their images', command: `kqueen inventory containers ${scope}` },
            ]}
            calls={[
              { method: 'GET', path: `/api/v1/inventory/workloads?${query}` },
              { method: 'GET', path: `/api/v1/inventory/containers?${query}` },
            ]}
          />
        </FlexItem>
      </Flex>
      {list === 'workloads' ? <WorkloadTable of={of} /> : <Containers of={of} actions={actions} />}
    </Stack>
  )
}

/** AsOf says of when a list of the inventory is. */
export function AsOf({ asOf }: { asOf?: Schemas['InventoryAsOf'] }) {
  if (!asOf) return null
  if (asOf.clusters === 0) {
    return <Alert component="p" isInline variant="info" title="The inventory has not read this cluster yet" />
  }
  if (asOf.live === asOf.clusters) {
    return (
      <div className="kq-quiet kq-small">
        The inventory follows the cluster; as of <Age at={asOf.oldestAt} />.
      </div>
    )
  }
  const why = asOf.notLive?.find((cluster) => cluster.message)?.message
  return (
    <Alert
      component="p"
      isInline
      variant="warning"
      className="kq-wrap"
      title="KQueen does not see into the cluster now"
    >
      This is as it was <Age at={asOf.oldestAt} />. {why}
    </Alert>
  )
}
