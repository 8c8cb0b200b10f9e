import type { LabelProps } from '@patternfly/react-core'
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon'
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon'
import InProgressIcon from '@patternfly/react-icons/dist/esm/icons/in-progress-icon'
import MoonIcon from '@patternfly/react-icons/dist/esm/icons/moon-icon'
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon'
import TrashIcon from '@patternfly/react-icons/dist/esm/icons/trash-icon'
import { useRef } from 'react'
import type { AnyObject } from '../api/objects'
import { type Health, healthOf } from '../logic/health'
import { Foreign } from './foreign'
import { Hint } from './hint'
import { Mark } from './mark'

const looks: Record<Health, { status?: LabelProps['status']; icon: React.ReactNode }> = {
  ready: { status: 'success', icon: <CheckCircleIcon /> },
  progressing: { status: 'info', icon: <InProgressIcon /> },
  failing: { status: 'danger', icon: <ExclamationCircleIcon /> },
  unknown: { status: 'warning', icon: <QuestionCircleIcon /> },
  deleting: { icon: <TrashIcon /> },
  asleep: { icon: <MoonIcon /> },
}

/** HealthLabel says how an object is, in a color, an icon and a word; why is shown when one points at it. */
export function HealthLabel({ of, isCompact = true }: { of: AnyObject; isCompact?: boolean }) {
  const verdict = healthOf(of)
  const look = looks[verdict.health]
  const at = useRef<HTMLSpanElement>(null)
  return (
    <>
      <Mark
        isCompact={isCompact}
        status={look.status}
        icon={look.icon}
        ref={at}
        {...(verdict.message ? { tabIndex: 0 } : {})}
      >
        {verdict.text}
      </Mark>
      {verdict.message && <Hint of={at} text={verdict.message} />}
    </>
  )
}

/** HealthAndWhy is the label and, where an object is not ready, why below it. */
export function HealthAndWhy({ of }: { of: AnyObject }) {
  const { health, message } = healthOf(of)
  return (
    <div>
      <HealthLabel of={of} />
      {health !== 'ready' && message && (
        <div className="kq-small kq-quiet">
          <Foreign text={message} />
        </div>
      )}
    </div>
  )
}
