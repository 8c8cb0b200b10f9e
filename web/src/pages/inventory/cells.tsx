import { Label } from '@patternfly/react-core'
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon'
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon'
import MinusCircleIcon from '@patternfly/react-icons/dist/esm/icons/minus-circle-icon'
import PlusCircleIcon from '@patternfly/react-icons/dist/esm/icons/plus-circle-icon'
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon'
import { Link } from '@tanstack/react-router'
import type { Search } from '../../app/urlstate'
import { fits } from '../../logic/foreign'
import { Age } from '../../ui/age'
import { ClusterLink } from '../../ui/dataage'
import { Foreign } from '../../ui/foreign'

interface Place {
  organization: string
  cluster: string
  live: boolean
  asOf?: string
}

/** ClusterCell names the cluster of a row and says so where the row is as it was seen last. */
export function ClusterCell({ of }: { of: Place }) {
  return (
    <>
      <ClusterLink organization={of.organization} cluster={of.cluster} />
      {!of.live && (
        <span className="kq-row-note">
          as of <Age at={of.asOf} none="never" />
        </span>
      )}
    </>
  )
}

/** ChangeLabel says of a row between two times which way it went. */
export function ChangeLabel({ change }: { change?: string }) {
  if (change === 'Appeared')
    return (
      <Label isCompact color="green" icon={<PlusCircleIcon />}>
        Appeared
      </Label>
    )
  if (change === 'Vanished')
    return (
      <Label isCompact color="purple" icon={<MinusCircleIcon />}>
        Vanished
      </Label>
    )
  return <span>–</span>
}

/** ReadyLabel shows the status of a node's condition Ready. */
export function ReadyLabel({ ready }: { ready?: string }) {
  if (ready === 'True')
    return (
      <Label isCompact status="success" icon={<CheckCircleIcon />}>
        Ready
      </Label>
    )
  const unknown = ready !== 'False'
  return (
    <Label
      isCompact
      status={unknown ? 'warning' : 'danger'}
      icon={unknown ? <QuestionCircleIcon /> : <ExclamationCircleIcon />}
    >
      {unknown ? 'Unknown' : 'Not ready'}
    </Label>
  )
}

/** Question is a text that leads to what the inventory answers about it, unless it is too long to ask. */
export function Question({ search, title, text }: { search: Search; title: string; text: string }) {
  if (!fits(search)) return <Foreign text={text} />
  return (
    <Link to="/inventory" search={search} title={title}>
      <Foreign text={text} />
    </Link>
  )
}

/** Wrapped is a text of a cluster, with a note below it. */
export function Wrapped({ text, note }: { text?: string; note?: string }) {
  return (
    <span className="kq-wrap">
      <Foreign text={text} none="–" />
      {note && (
        <span className="kq-row-note">
          <Foreign text={note} />
        </span>
      )}
    </span>
  )
}

/** Named is a short name that is not broken, with a word of Kubernetes below it. */
export function Named({ name, note }: { name?: string; note?: string }) {
  return (
    <>
      <Foreign text={name} none="–" />
      {note && (
        <span className="kq-row-note">
          <Foreign text={note} />
        </span>
      )}
    </>
  )
}
