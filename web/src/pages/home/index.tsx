import { Grid, GridItem, PageSection } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useLive } from '../../api/live'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { mayAdminister } from '../../logic/roles'
import { FromCli } from '../../ui/fromcli'
import { PageHead } from '../../ui/page'
import { Attention } from './attention'
import { Capacity } from './capacity'
import { Counted } from './counted'
import './home.css'
import { clusterSummary } from '../../api/summary'
import { shellWord } from '../../logic/shell'
import { Alone, First, Start } from './start'

export default function Page() {
  const me = useMe()
  const [{ org }] = useUrlState()
  const none = Object.keys(me.roles).length === 0 && !mayAdminister(me).allowed
  const watched = org ? `/api/v1/organizations/${encodeURIComponent(org)}/clusters` : '/api/v1/clusters'
  const live = useLive(none ? undefined : watched, [['clusters'], ['operations']])
  const summary = useQuery({
    queryKey: ['clusters', 'summary', org ?? ''],
    queryFn: () => clusterSummary(org),
    enabled: !none,
  })
  return (
    <>
      <PageHead
        title="Overview"
        about={org ? `The clusters of the organization ${org}, at a glance.` : 'All your clusters, at a glance.'}
        live={none ? undefined : live}
        actions={<Cli org={org} />}
      />
      <PageSection>
        {none ? (
          <Alone name={me.name} />
        ) : summary.data?.total === 0 ? (
          <First org={org} />
        ) : (
          <Grid hasGutter>
            <GridItem span={12}>
              <Counted summary={summary.data} error={summary.error} again={() => void summary.refetch()} />
            </GridItem>
            <GridItem lg={8}>
              <Attention org={org} organizations={summary.data?.byOrganization.items?.map((one) => one.value)} />
            </GridItem>
            <GridItem lg={4}>
              <Start org={org} />
            </GridItem>
            <GridItem span={12}>
              <Capacity org={org} />
            </GridItem>
          </Grid>
        )}
      </PageSection>
    </>
  )
}

function Cli({ org }: { org?: string }) {
  const of = org ? `--org ${shellWord(org)}` : '-A'
  const query = org ? `?organization=${encodeURIComponent(org)}` : ''
  const lines = [
    { about: 'How many clusters there are of which kind.', command: `kqueen cluster summary ${of}` },
    { about: 'Clusters, and how they are.', command: `kqueen cluster list ${of}` },
    { about: 'What deserves attention in them.', command: `kqueen inventory findings ${of}` },
    { about: 'Nodes and their size.', command: `kqueen inventory nodes ${of} -o wide` },
  ]
  if (org)
    lines.push({
      about: 'Work that is stalled.',
      command: `kqueen operation list --org ${shellWord(org)} --state Stalled`,
    })
  return (
    <FromCli
      lines={lines}
      calls={[
        { method: 'GET', path: `/api/v1/summaries/clusters${query}` },
        { method: 'GET', path: `/api/v1/inventory/findings${query}` },
        { method: 'GET', path: `/api/v1/inventory/nodes${query}` },
      ]}
    />
  )
}
