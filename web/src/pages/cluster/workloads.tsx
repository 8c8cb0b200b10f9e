import { Button, Flex, FlexItem, Stack, ToggleGroup, ToggleGroupItem } from '@patternfly/react-core'
import type { ReactNode } from 'react'
import type { Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { shellWord } from '../../logic/shell'
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
  const scope = `--cluster ${shellWord(of.cluster)} --org ${shellWord(of.organization)}${state.ns ? ` -n ${shellWord(state.ns)}` : ''}`
  const query = `organization=${of.organization}&cluster=${of.cluster}${state.ns ? `&namespace=${encodeURIComponent(state.ns)}` : ''}`
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
