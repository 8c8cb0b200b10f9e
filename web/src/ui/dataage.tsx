import { Alert, List, ListItem, Skeleton } from '@patternfly/react-core'
import { Link } from '@tanstack/react-router'
import type { Schemas } from '../api/client'
import { count } from '../logic/quantity'
import { Age } from './age'
import { Foreign } from './foreign'

type AsOf = Schemas['InventoryAsOf']
const named = 5

interface DataAgeProps {
  asOf?: AsOf
  /** It is asked again by itself. */
  repeats?: boolean
  /** The clusters that are not watched are named elsewhere. */
  brief?: boolean
}

/** DataAge says as of when an answer about what runs in clusters is, and names the clusters that are not watched. */
export function DataAge({ asOf, repeats, brief }: DataAgeProps) {
  if (!asOf) return <Skeleton width="16rem" screenreaderText="Loading the age of the data" />
  const lost = asOf.notLive ?? []
  return (
    <>
      <div className="kq-quiet kq-small">
        {asOf.clusters === 0 ? 'No cluster is known.' : <Known asOf={asOf} />}
        {repeats && ' Asked again every 30 s.'}
      </div>
      {asOf.lost > 0 && !brief && (
        <Alert
          component="h2"
          isInline
          variant="warning"
          title={`${count(asOf.lost, 'cluster')} shown as last seen: no connection now`}
        >
          <List>
            {lost.slice(0, named).map((one) => (
              <ListItem key={one.uid} className="kq-wrap">
                <ClusterLink organization={one.organization} cluster={one.cluster} />, as of{' '}
                <Age at={one.asOf} none="never" />
                {one.message && ': '}
                <Foreign text={one.message} />
              </ListItem>
            ))}
            {asOf.lost > Math.min(lost.length, named) && (
              <ListItem>
                {count(asOf.lost - Math.min(lost.length, named), 'more cluster')}:{' '}
                <Link to="/inventory" search={(before) => ({ org: before.org, view: 'clusters' })}>
                  all clusters and their age
                </Link>
              </ListItem>
            )}
          </List>
        </Alert>
      )}
    </>
  )
}

function Known({ asOf }: { asOf: AsOf }) {
  return (
    <>
      {asOf.live} of {count(asOf.clusters, 'cluster')} live
      {asOf.lost > 0 && `, ${asOf.lost} not connected`}
      {asOf.ended > 0 && `, ${asOf.ended} gone`}.{' '}
      {asOf.oldestAt && (
        <>
          All of it is known as of <Age at={asOf.oldestAt} />.
        </>
      )}
    </>
  )
}

/** ClusterLink leads to a cluster; its organization stands before it. */
export function ClusterLink({ organization, cluster }: { organization: string; cluster: string }) {
  return (
    <Link
      to="/organizations/$organization/clusters/$cluster"
      params={{ organization, cluster }}
      search={(before) => ({ org: before.org })}
    >
      {organization}/{cluster}
    </Link>
  )
}
