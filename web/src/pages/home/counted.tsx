import { Card, CardBody, CardTitle, Skeleton } from '@patternfly/react-core'
import CheckCircleIcon from '@patternfly/react-icons/dist/esm/icons/check-circle-icon'
import ExclamationCircleIcon from '@patternfly/react-icons/dist/esm/icons/exclamation-circle-icon'
import QuestionCircleIcon from '@patternfly/react-icons/dist/esm/icons/question-circle-icon'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { ClusterSummary, Counts } from '../../api/summary'
import type { Search } from '../../app/urlstate'
import { fits } from '../../logic/foreign'
import { count } from '../../logic/quantity'
import { Foreign } from '../../ui/foreign'
import { ProblemAlert } from '../../ui/problem'

/** How many values a card shows. */
const shown = 6

const readiness: Record<string, { text: string; icon: ReactNode; ready: string }> = {
  ready: { text: 'Ready', icon: <CheckCircleIcon className="kq-home-ready" />, ready: 'true' },
  notReady: { text: 'Not ready', icon: <ExclamationCircleIcon className="kq-home-failing" />, ready: 'false' },
  unknown: { text: 'Unknown', icon: <QuestionCircleIcon className="kq-home-unknown" />, ready: 'unknown' },
}

interface CountedProps {
  summary?: ClusterSummary
  error: unknown
  again: () => void
}

/** Counted shows how many clusters there are of which kind. Each number leads to the list of them. */
export function Counted({ summary, error, again }: CountedProps) {
  if (error && !summary) return <ProblemAlert title="Clusters could not be counted" error={error} again={again} />
  const deleting = summary?.deleting ?? 0
  return (
    <div className="kq-home-cards">
      <Counter
        title={summary ? count(summary.total, 'cluster') : 'Clusters'}
        note={deleting > 0 ? `${deleting} being deleted` : undefined}
        counts={summary?.byReadiness}
        text={(value) => (
          <>
            {readiness[value]?.icon} {readiness[value]?.text ?? value}
          </>
        )}
        to={(value) => ({ ready: readiness[value]?.ready })}
      />
      <Counter
        title="Kubernetes versions"
        counts={summary?.byVersion}
        text={(value) => <Foreign text={value} none="not known" />}
        to={(value) => (value && fits({ version: value }) ? { version: value } : undefined)}
      />
      <Counter
        title="Provisioners"
        counts={summary?.byProvisioner}
        text={(value) => <Foreign text={value} none="none" />}
        to={(value) => (value ? { provisioner: value } : undefined)}
      />
      <Counter
        title="Organizations"
        counts={summary?.byOrganization}
        text={(value) => value}
        to={(value) => ({ org: value })}
      />
    </div>
  )
}

interface CounterProps {
  title: string
  note?: string
  counts?: Counts
  text: (value: string) => ReactNode
  /** What the list of clusters is filtered by; undefined where it has no such filter. */
  to: (value: string) => Search | undefined
}

function Counter({ title, note, counts, text, to }: CounterProps) {
  const items = counts?.items ?? []
  const rest = items.slice(shown).reduce((sum, one) => sum + one.count, counts?.more ?? 0)
  return (
    <Card isCompact>
      <CardTitle component="h2">{title}</CardTitle>
      <CardBody>
        {!counts && <Skeleton screenreaderText="Counting" />}
        <ul className="kq-home-counts">
          {items.slice(0, shown).map(({ value, count: n }) => (
            <Row key={value} n={n} search={to(value)}>
              {text(value)}
            </Row>
          ))}
          {rest > 0 && (
            <Row n={rest} search={{}}>
              others
            </Row>
          )}
        </ul>
        {note && <p className="kq-quiet kq-small">{note}</p>}
      </CardBody>
    </Card>
  )
}

function Row({ n, search, children }: { n: number; search?: Search; children: ReactNode }) {
  return (
    <li>
      <span className="kq-wrap">
        {search ? (
          <Link to="/clusters" search={(before: Search) => ({ org: before.org, ...search })}>
            {children}
          </Link>
        ) : (
          children
        )}
      </span>
      <strong>{n.toLocaleString('en')}</strong>
    </li>
  )
}
