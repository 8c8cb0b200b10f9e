import { Card, CardBody, CardTitle, Label, Skeleton } from '@patternfly/react-core'
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon'
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon'
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon'
import { Link } from '@tanstack/react-router'
import type { Concern } from '../../logic/attention'
import { readable } from '../../logic/foreign'
import { count } from '../../logic/quantity'
import { Age } from '../../ui/age'
import { ClusterLink, DataAge } from '../../ui/dataage'
import { Foreign } from '../../ui/foreign'
import { ProblemAlert } from '../../ui/problem'
import { useConcerns } from './concerns'

/** How many concerns are shown; the lists that they come from have all. */
const shown = 12

interface AttentionProps {
  org?: string
  /** Those with clusters, the largest first, once it is known. */
  organizations?: string[]
}

/** Attention shows what somebody has to see to, the gravest first, and leads there. */
export function Attention({ org, organizations }: AttentionProps) {
  const { concerns, busy, errors, asOf, notes } = useConcerns(org, organizations)
  return (
    <Card isCompact isFullHeight>
      <CardTitle component="h2">Needs attention</CardTitle>
      <CardBody>
        {errors.map(({ title, error, again }) => (
          <ProblemAlert key={title} title={title} error={error} again={again} />
        ))}
        {busy && <Skeleton screenreaderText="Looking for what deserves attention" />}
        {!busy && errors.length === 0 && concerns.length === 0 && (
          <p>
            <CheckCircleIcon className="kq-home-ready" /> Nothing needs you: all clusters are ready and connected, no
            work is stalled, and no finding is critical.
          </p>
        )}
        <ul className="kq-home-concerns">
          {concerns.slice(0, shown).map((concern) => (
            <One key={concern.key} concern={concern} />
          ))}
        </ul>
        {concerns.length > shown && (
          <p>
            {count(concerns.length - shown, 'more concern')}:{' '}
            <Link to="/clusters" search={(before) => ({ org: before.org, ready: 'false' })}>
              clusters that are not ready
            </Link>{' '}
            and{' '}
            <Link to="/inventory" search={(before) => ({ org: before.org, view: 'findings' })}>
              findings
            </Link>
            .
          </p>
        )}
        {notes.map((note) => (
          <p key={note} className="kq-quiet kq-small">
            {note}
          </p>
        ))}
        <DataAge asOf={asOf} brief />
      </CardBody>
    </Card>
  )
}

function One({ concern }: { concern: Concern }) {
  const grave = concern.rank < 2
  return (
    <li>
      <div>
        <Label
          isCompact
          status={grave ? 'danger' : 'warning'}
          icon={grave ? <ExclamationCircleIcon /> : <ExclamationTriangleIcon />}
        >
          {readable(concern.kind)}
        </Label>{' '}
        <ClusterLink organization={concern.organization} cluster={concern.cluster} />{' '}
        {concern.subject !== 'cluster' && <Foreign text={concern.subject} />}{' '}
        <span className="kq-quiet kq-small">
          <Age at={concern.since} none="" />
        </span>
      </div>
      <p className="kq-wrap kq-small">
        <Foreign text={concern.message} />
        {concern.remedy && (
          <span className="kq-quiet">
            {' '}
            What to do: <Foreign text={concern.remedy} />.
          </span>
        )}{' '}
        {concern.at === 'findings' && (
          <Link
            to="/inventory"
            search={(before) => ({
              org: before.org ?? concern.organization,
              view: 'findings',
              cluster: concern.cluster,
            })}
          >
            All findings of the cluster
          </Link>
        )}
      </p>
    </li>
  )
}
