import {
  Card,
  CardBody,
  CardTitle,
  Label,
  List,
  ListItem,
  ProgressStep,
  ProgressStepper,
  Stack,
} from '@patternfly/react-core'
import type { Schemas } from '../../api/client'
import type { Cluster } from '../../api/objects'
import { readable } from '../../logic/foreign'
import { lasted } from '../../logic/time'
import { Age, useNow } from '../../ui/age'
import { Foreign } from '../../ui/foreign'
import { ProblemAlert } from '../../ui/problem'
import { useOperations } from './data'
import type { TabProps } from './index'

const colors = { Running: 'info', Retrying: 'warning', Stalled: 'danger' } as const

/** InProgress shows the work that goes on at a cluster, for how long, and its steps. It is nothing while there is none. */
export function InProgress({ of, cluster }: TabProps) {
  const query = useOperations(of)
  const operations = query.data?.items ?? []
  const steps = cluster.status?.steps ?? []
  const open = steps.some((step) => !step.done)
  if (query.error) return <ProblemAlert title="Work in progress is not known" error={query.error} />
  if (operations.length === 0 && !open) return null
  return (
    <Card>
      <CardTitle component="h2">In progress</CardTitle>
      <CardBody>
        <Stack hasGutter>
          <List isPlain>
            {operations.map((operation) => (
              <ListItem key={operation.object.kind + operation.object.name}>
                <Work operation={operation} />
              </ListItem>
            ))}
          </List>
          {open && <Steps cluster={cluster} stalled={operations.some((o) => o.state === 'Stalled')} />}
        </Stack>
      </CardBody>
    </Card>
  )
}

function Work({ operation }: { operation: Schemas['Operation'] }) {
  const now = useNow()
  const begun = operation.lastTransitionAt
  const since = begun && lasted(now.getTime() - Date.parse(begun))
  return (
    <div className="kq-wrap">
      <Label isCompact status={colors[operation.state as keyof typeof colors]}>
        {operation.state}
      </Label>{' '}
      <strong>
        {operation.action} {operation.object.kind} {operation.object.name}
      </strong>
      {operation.progress && ` (${operation.progress.done} of ${operation.progress.total})`}
      {since ? `, for ${since}` : ', not begun yet'}: <Foreign text={operation.message || operation.reason} detail />
      {operation.nextRetryAt && (
        <>
          ; tried again <Age at={operation.nextRetryAt} />
        </>
      )}
    </div>
  )
}

function Steps({ cluster, stalled }: { cluster: Cluster; stalled: boolean }) {
  const steps = cluster.status?.steps ?? []
  const current = steps.findIndex((step) => !step.done)
  return (
    <div className="kq-scroll">
      <ProgressStepper aria-label="Steps of the provisioner" isVertical={steps.length > 5}>
        {steps.map((step, i) => (
          <ProgressStep
            key={step.name}
            id={`step-${i}`}
            titleId={`step-title-${i}`}
            variant={step.done ? 'success' : i !== current ? 'pending' : stalled ? 'danger' : 'info'}
            isCurrent={i === current}
            description={readable(step.message)}
            aria-label={`${readable(step.name)}: ${step.done ? 'done' : i === current ? 'at work' : 'to come'}`}
          >
            {readable(step.name)}
          </ProgressStep>
        ))}
      </ProgressStepper>
    </div>
  )
}
