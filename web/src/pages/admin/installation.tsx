import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  List,
  ListItem,
  Skeleton,
} from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { Copied } from '../../ui/fromcli'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'

interface Version {
  version: string
  api: string
}

const guides = [
  ['upgrade', 'Upgrade KQueen'],
  ['monitoring', 'Monitoring: metrics, alerts and what they mean'],
  ['troubleshooting', 'Troubleshooting, by what one sees'],
  ['certificates', 'Certificates and keys, and how they are renewed'],
  ['audit', 'The audit log'],
  ['security', 'Security model'],
  ['host', 'The host of KQueen'],
  ['limitations', 'Known limitations'],
  ['support', 'Support matrix'],
] as const

async function readVersion(): Promise<Version> {
  const response = await fetch('/version')
  if (!response.ok || !response.headers.get('content-type')?.includes('json'))
    throw new Error(`The server does not tell its version (${response.status}).`)
  return (await response.json()) as Version
}

/** Installation says what runs here, and where it is told how it is operated. */
export function Installation() {
  const version = useQuery({ queryKey: ['version'], queryFn: readVersion, staleTime: 60_000 })
  const terms = [
    ['Version of KQueen', version.data?.version],
    ['Version of the API', version.data?.api],
    ['Address', location.origin],
  ] as const
  return (
    <>
      <Part title="Installation">
        <ProblemAlert error={version.error} again={() => void version.refetch()} />
        <DescriptionList isCompact isHorizontal>
          {terms.map(([term, value]) => (
            <DescriptionListGroup key={term}>
              <DescriptionListTerm>{term}</DescriptionListTerm>
              <DescriptionListDescription className="kq-wrap">
                {value ?? (version.isPending ? <Skeleton screenreaderText="Loading" /> : 'not known')}
              </DescriptionListDescription>
            </DescriptionListGroup>
          ))}
        </DescriptionList>
        <br />
        <p>How its parts are, on the machine of the installation:</p>
        <Copied text="kqueen status" />
      </Part>
      <br />
      <Part title="How it is operated" about="The documentation of this version, served by this installation.">
        <List>
          {guides.map(([page, name]) => (
            <ListItem key={page}>
              <a href={`/docs/operations/${page}`}>{name}</a>
            </ListItem>
          ))}
        </List>
      </Part>
    </>
  )
}
