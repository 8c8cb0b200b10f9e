import {
  Button,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  ProgressStep,
  type ProgressStepProps,
  ProgressStepper,
  Skeleton,
  Stack,
  Title,
} from '@patternfly/react-core'
import type { Restore } from '../../api/objects'
import { type Changes, changesInWords, hasEnded, moreChanges, type Step, stepsOf } from '../../logic/backup'
import { readable } from '../../logic/foreign'
import { ClusterLink } from '../../ui/dataage'
import { HealthLabel } from '../../ui/health'
import { ProblemAlert } from '../../ui/problem'
import { useRestore } from './backupdata'
import type { Of } from './data'
import { stateWords } from './restores'

const variants: Record<Step['state'], ProgressStepProps['variant']> = {
  done: 'success',
  working: 'info',
  failed: 'danger',
  pending: 'pending',
}

/** RestoreDetails follows a restore or comparison, and shows what it changes once that is known. */
export function RestoreDetails({ of, name, close }: { of: Of; name: string; close: () => void }) {
  const query = useRestore(of.organization, name)
  const restore = query.data
  return (
    <Modal variant="medium" isOpen onClose={close} aria-labelledby="restore-details">
      <ModalHeader
        title={restore?.spec?.compareOnly ? `Comparison ${name}` : `Restore ${name}`}
        labelId="restore-details"
        description={restore && aboutOf(of, restore)}
      />
      <ModalBody tabIndex={0} aria-label="Steps and changes">
        <ProblemAlert error={query.error} again={() => void query.refetch()} />
        {query.isPending && <Skeleton screenreaderText="Loading the restore" height="10rem" />}
        {restore && (
          <Stack hasGutter>
            <div>
              <HealthLabel of={restore} isCompact={false} />
            </div>
            <ProgressStepper aria-label="Steps" isVertical>
              {stepsOf(restore).map((step) => (
                <ProgressStep
                  key={step.type}
                  id={`restore-${step.type}`}
                  titleId={`restore-title-${step.type}`}
                  variant={variants[step.state]}
                  isCurrent={step.state === 'working' || step.state === 'failed'}
                  description={readable(step.message)}
                  aria-label={`${step.name}: ${stateWords[step.state]}`}
                >
                  {step.name}
                </ProgressStep>
              ))}
            </ProgressStepper>
            {restore.spec?.newClusterName && restore.status?.completionTime && !restore.spec.compareOnly && (
              <div>
                The new cluster: <ClusterLink organization={of.organization} cluster={restore.spec.newClusterName} />
              </div>
            )}
            <div aria-live="polite">
              {restore.status?.changes ? (
                <Differences changes={restore.status.changes} would={!!restore.spec?.compareOnly} />
              ) : (
                !hasEnded(restore) && <p className="kq-quiet">What differs is shown here once it is known.</p>
              )}
            </div>
          </Stack>
        )}
      </ModalBody>
      <ModalFooter>
        <Button onClick={close}>Close</Button>
      </ModalFooter>
    </Modal>
  )
}

function aboutOf(of: Of, restore: Restore): string {
  const only = restore.spec?.include?.length ? ` Only: ${restore.spec.include.map(readable).join(', ')}.` : ''
  const backup = readable(restore.spec?.backupName)
  const made = restore.spec?.newClusterName
  if (made) {
    return restore.spec?.compareOnly
      ? `What a new cluster ${made} of backup ${backup} would get. Nothing is created.`
      : `The new cluster ${made}, of backup ${backup}.`
  }
  if (restore.spec?.compareOnly) return `Cluster ${of.cluster} and backup ${backup}. Nothing is changed.${only}`
  const saved = readable(restore.status?.saved)
  return `Cluster ${of.cluster} to backup ${backup}.${saved ? ` The state before is in backup ${saved}.` : ''}${only}`
}

function Differences({ changes, would }: { changes: Changes; would: boolean }) {
  const more = moreChanges(changes)
  return (
    <>
      <Title headingLevel="h2" size="md">
        {would ? 'A restore would change' : 'What was changed'}: {changesInWords(changes)}
      </Title>
      {(changes.first?.length ?? 0) > 0 && (
        <>
          <p className="kq-quiet kq-small">
            + is created, ~ changed and - removed; the keys are those of the data store.
          </p>
          <pre className="kq-keys">
            {changes.first?.map((key) => `${readable(key)}\n`).join('')}
            {more}
          </pre>
        </>
      )}
    </>
  )
}
