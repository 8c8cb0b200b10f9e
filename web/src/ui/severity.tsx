import { Label } from '@patternfly/react-core'
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon'
import ExclamationTriangleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-triangle-icon'
import InfoCircleIcon from '@patternfly/react-icons/dist/esm/icons/info-circle-icon'
import { readable } from '../logic/foreign'

/** SeverityLabel says how grave a finding is. */
export function SeverityLabel({ severity }: { severity: string }) {
  const looks = {
    Critical: { status: 'danger', icon: <ExclamationCircleIcon /> },
    Warning: { status: 'warning', icon: <ExclamationTriangleIcon /> },
    Info: { status: 'info', icon: <InfoCircleIcon /> },
  } as const
  const look = Object.hasOwn(looks, severity) ? looks[severity as keyof typeof looks] : looks.Info
  return (
    <Label isCompact status={look.status} icon={look.icon}>
      {readable(severity)}
    </Label>
  )
}
