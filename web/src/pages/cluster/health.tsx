import { Alert, Icon, List, ListItem, Stack } from '@patternfly/react-core'
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon'
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon'
import InProgressIcon from '@patternfly/react-icons/dist/esm/icons/in-progress-icon'
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon'
import type { Cluster } from '../../api/objects'
import { nextStep, type Part, partsOf } from '../../logic/cluster'
import { mostInDetail, readable } from '../../logic/foreign'
import { healthOf } from '../../logic/health'
import { Age } from '../../ui/age'
import { Foreign } from '../../ui/foreign'

const looks: Record<
  Part['state'],
  { status: 'success' | 'info' | 'danger' | 'warning'; icon: React.ReactNode; word: string }
> = {
  good: { status: 'success', icon: <CheckCircleIcon />, word: 'Good' },
  working: { status: 'info', icon: <InProgressIcon />, word: 'In progress' },
  bad: { status: 'danger', icon: <ExclamationCircleIcon />, word: 'Wrong' },
  unknown: { status: 'warning', icon: <QuestionCircleIcon />, word: 'Not known' },
}

/** Parts says how each part of a cluster is, why, and what to do about it. */
export function Parts({ cluster }: { cluster: Cluster }) {
  const verdict = healthOf(cluster)
  const step = nextStep(cluster)
  const parts = partsOf(cluster)
  const retry = cluster.status?.nextRetryTime
  return (
    <Stack hasGutter>
      {(verdict.health === 'failing' || verdict.health === 'unknown') && (
        <Alert
          component="p"
          isInline
          variant={verdict.health === 'failing' ? 'danger' : 'warning'}
          title={`${verdict.text}: ${readable(verdict.message, mostInDetail) || 'no reason is given'}`}
          className="kq-wrap"
        >
          {step && <p>Next step: {step}</p>}
        </Alert>
      )}
      {verdict.health !== 'failing' && verdict.health !== 'unknown' && step && (
        <Alert component="p" isInline variant="info" title={step} className="kq-wrap" />
      )}
      {retry && (
        <div>
          What failed is tried again <Age at={retry} />.
        </div>
      )}
      {parts.length === 0 && <p>Nothing is known of the cluster yet: its controller has not begun.</p>}
      <List isPlain isBordered>
        {parts.map((part) => (
          <ListItem key={part.type}>
            <PartLine part={part} />
          </ListItem>
        ))}
      </List>
    </Stack>
  )
}

function PartLine({ part }: { part: Part }) {
  const look = looks[part.state]
  return (
    <>
      <Icon status={look.status} isInline>
        {look.icon}
      </Icon>{' '}
      <span className="pf-v6-screen-reader">{look.word}: </span>
      <strong>{part.title}</strong>{' '}
      <span className="kq-quiet kq-small">
        {part.type}, <Age at={part.since} />
      </span>
      {part.message && part.message !== part.title && (
        <div className="kq-quiet">
          <Foreign text={part.message} detail />
        </div>
      )}
    </>
  )
}
