import {
  Alert,
  Bullseye,
  Button,
  Checkbox,
  Flex,
  FlexItem,
  Spinner,
  Stack,
  ToggleGroup,
  ToggleGroupItem,
} from '@patternfly/react-core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { api, ok, type Schemas } from '../../api/client'
import { useUrlState } from '../../app/urlstate'
import { mostInDetail, readable } from '../../logic/foreign'
import { count } from '../../logic/quantity'
import { shellWord } from '../../logic/shell'
import { essence } from '../../logic/topology'
import { Age } from '../../ui/age'
import { Empty } from '../../ui/empty'
import { FromCli } from '../../ui/fromcli'
import { ProblemAlert } from '../../ui/problem'
import type { TabProps } from './index'
import { Namespace, useNamespaces } from './namespace'
import { Relations } from './relations'

const Graph = lazy(() => import('./graph'))

/** More objects than this nobody sees through, and a browser draws them slowly. */
const drawable = 600

/** Topology is what belongs to what in a namespace of the cluster, read of the cluster itself. */
export function Topology({ of }: TabProps) {
  const [state, set] = useUrlState()
  const known = useNamespaces(of)
  const namespace = state.ns ?? (known.isPending ? undefined : (known.data?.[0] ?? 'default'))
  const query = useQuery({
    queryKey: ['topology', of.organization, of.cluster, namespace],
    queryFn: () =>
      ok(
        api.GET('/api/v1/organizations/{organization}/clusters/{cluster}/topology', {
          params: { path: of, query: { namespace: namespace ? [namespace] : undefined } },
        }),
      ),
    enabled: namespace !== undefined,
    retry: false,
    staleTime: 60_000,
    refetchOnWindowFocus: false,
    placeholderData: keepPreviousData,
  })
  // On a phone the graph is too small to be read; it is there when it is asked for.
  const asList = state.view ? state.view === 'list' : matchMedia('(max-width: 48rem)').matches
  return (
    <Stack hasGutter>
      <Flex>
        <Namespace of={of} value={namespace ?? ''} set={(ns) => set({ ns })} none="A namespace" />
        <ToggleGroup aria-label="How to show it">
          <ToggleGroupItem
            text="Graph"
            buttonId="as-graph"
            isSelected={!asList}
            onChange={() => set({ view: 'graph' })}
          />
          <ToggleGroupItem text="List" buttonId="as-list" isSelected={asList} onChange={() => set({ view: 'list' })} />
        </ToggleGroup>
        <Checkbox
          id="topology-all"
          label="Configuration, volumes and nodes too"
          isChecked={state.all === 'true'}
          onChange={(_, all) => set({ all: all ? 'true' : undefined })}
        />
        <FlexItem align={{ default: 'alignRight' }}>
          <Flex spaceItems={{ default: 'spaceItemsSm' }}>
            <Button variant="secondary" isLoading={query.isFetching} onClick={() => void query.refetch()}>
              Refresh
            </Button>
            <FromCli
              lines={[
                {
                  about: 'The same as a tree; -o dot draws it with Graphviz',
                  command: `kqueen inventory topology --cluster ${shellWord(of.cluster)} -n ${shellWord(namespace ?? '')} --org ${shellWord(of.organization)}`,
                },
              ]}
              calls={[
                {
                  method: 'GET',
                  path: `/api/v1/organizations/${of.organization}/clusters/${of.cluster}/topology?namespace=${encodeURIComponent(namespace ?? '')}`,
                },
              ]}
            />
          </Flex>
        </FlexItem>
      </Flex>
      <ProblemAlert
        title="The cluster did not say what belongs to what"
        error={query.error}
        again={() => void query.refetch()}
      />
      {query.isFetching && !query.data && <Waiting />}
      {query.data && !query.error && (
        <Shown topology={query.data} namespace={namespace ?? ''} all={state.all === 'true'} asList={asList} />
      )}
    </Stack>
  )
}

interface ShownProps {
  topology: Schemas['ClusterTopology']
  namespace: string
  all: boolean
  asList: boolean
}

function Shown({ topology, namespace, all, asList }: ShownProps) {
  const objects = topology.objects ?? []
  const relations = topology.relations ?? []
  const shown = all ? { objects, relations } : essence(objects, relations)
  const many = shown.objects.length > drawable
  return (
    <>
      <div className="kq-quiet kq-small">
        {count(shown.objects.length, 'object')} of {objects.length}, {count(shown.relations.length, 'relation')}; as of{' '}
        <Age at={topology.asOf} />.
      </div>
      {topology.truncated && (
        <Alert
          component="p"
          isInline
          variant="warning"
          title="This is not all: the namespace has more than an answer has place for."
        />
      )}
      {topology.notRead?.map((not) => (
        <Alert
          component="p"
          key={not.resource}
          isInline
          variant="warning"
          className="kq-wrap"
          title={`${readable(not.resource)} could not be read, or not in full: ${readable(not.reason, mostInDetail)}`}
        />
      ))}
      {shown.objects.length === 0 ? (
        <Empty title={`There is nothing in the namespace ${namespace}`} filtered>
          Choose another namespace{all ? '' : ', or show configuration too'}.
        </Empty>
      ) : asList || many ? (
        <>
          {many && !asList && (
            <Alert component="p" isInline variant="info" title="These are too many to draw: here is the list." />
          )}
          <Relations objects={shown.objects} relations={shown.relations} />
        </>
      ) : (
        <Suspense fallback={<Waiting />}>
          <Graph objects={shown.objects} relations={shown.relations} />
        </Suspense>
      )}
    </>
  )
}

function Waiting() {
  return (
    <Bullseye>
      <Spinner aria-label="Asking the cluster" />
    </Bullseye>
  )
}
