import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
} from '@patternfly/react-core'
import type { Schemas } from '../../api/client'
import { readable } from '../../logic/foreign'
import { exact } from '../../logic/time'
import { Foreign } from '../../ui/foreign'

type Record = Schemas['AuditRecord']

/** Detail is all that a record says. */
export function Detail({ of }: { of: Record }) {
  const rows: [string, string | undefined, boolean?][] = [
    ['Record', String(of.sequence)],
    ['Time', exact(new Date(of.time))],
    ['Who', [of.actor.kind, of.actor.name].filter(Boolean).join(' ')],
    ['By the token or session', of.actor.credential, true],
    ['From the address', of.source, true],
    ['Program', of.userAgent],
    ['Organization', of.organization],
    ['UID of the object', of.object.uid, true],
    ['Status', of.status ? String(of.status) : undefined],
    ['Reason', of.reason],
    ['Request', of.requestId, true],
    ...Object.entries(of.detail ?? {}).map(([key, value]): [string, string] => [`Detail: ${key}`, value]),
    ['Object before, SHA-256', of.before, true],
    ['Object after, SHA-256', of.after, true],
    ['Hash of the record before', of.previous, true],
    ['Hash of this record', of.hash, true],
  ]
  return (
    <DescriptionList isCompact isHorizontal horizontalTermWidthModifier={{ default: '14rem' }}>
      {rows
        .filter(([, value]) => value)
        .map(([name, value, code]) => (
          <DescriptionListGroup key={name}>
            <DescriptionListTerm>{readable(name)}</DescriptionListTerm>
            <DescriptionListDescription className="kq-wrap">
              {code ? <code>{value}</code> : <Foreign text={value} detail />}
            </DescriptionListDescription>
          </DescriptionListGroup>
        ))}
    </DescriptionList>
  )
}
