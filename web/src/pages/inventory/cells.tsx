import { Button, Label } from '@patternfly/react-core'
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon'
import CopyIcon from '@patternfly/react-icons/dist/esm/icons/copy-icon'
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon'
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon'
import InfoCircleIcon from '@patternfly/react-icons/dist/esm/icons/info-circle-icon'
import MinusCircleIcon from '@patternfly/react-icons/dist/esm/icons/minus-circle-icon'
import PlusCircleIcon from '@patternfly/react-icons/dist/esm/icons/plus-circle-icon'
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon'
import { shortDigest } from '../../logic/digests'
import { Age } from '../../ui/age'
import { ClusterLink } from '../../ui/dataage'
import { useTell } from '../../ui/toasts'

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

export function DigestCell({ digest }: { digest?: string }) {
  const tell = useTell()
  if (!digest) return <span title="No kubelet has said yet which content runs.">no digest known</span>
  const copy = () =>
    navigator.clipboard.writeText(digest).then(
      () => tell('The digest is copied'),
      () => tell('The browser does not allow to copy', 'danger'),
    )
  return (
    <span style={{ whiteSpace: 'nowrap' }}>
      <code title={digest}>{shortDigest(digest)}</code>
      <Button
        variant="plain"
        size="sm"
        hasNoPadding
        icon={<CopyIcon />}
        aria-label={`Copy the digest ${digest}`}
        onClick={() => void copy()}
      />
    </span>
  )
}

export function SeverityLabel({ severity }: { severity: string }) {
  const looks = {
    Critical: { status: 'danger', icon: <ExclamationCircleIcon /> },
    Warning: { status: 'warning', icon: <ExclamationTriangleIcon /> },
    Info: { status: 'info', icon: <InfoCircleIcon /> },
  } as const
  const look = Object.hasOwn(looks, severity) ? looks[severity as keyof typeof looks] : looks.Info
  return (
    <Label isCompact status={look.status} icon={look.icon}>
      {severity}
    </Label>
  )
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

/** Wrapped is a long text of a cluster's, which may have no spaces. */
export function Wrapped({ text, note }: { text?: string; note?: string }) {
  return (
    <span className="kq-wrap">
      {text || '–'}
      {note && <span className="kq-row-note">{note}</span>}
    </span>
  )
}

/** Named is a short name that is not broken, with a word of Kubernetes below it. */
export function Named({ name, note }: { name?: string; note?: string }) {
  return (
    <>
      {name || '–'}
      {note && <span className="kq-row-note">{note}</span>}
    </>
  )
}
