import { Label, type LabelProps } from '@patternfly/react-core'
import { lasted } from '../../logic/time'
import type { UpgradePlanStep, UpgradeStep } from '../../logic/upgrade'
import { secondsOf } from '../../logic/upgrade'
import { useNow } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'

const looks: Record<UpgradeStep['state'], { status?: LabelProps['status']; word: string }> = {
  Pending: { word: 'to come' },
  Running: { status: 'info', word: 'at work' },
  Done: { status: 'success', word: 'done' },
  Skipped: { word: 'skipped' },
  Failed: { status: 'danger', word: 'stuck' },
}

const seconds = (n: number | undefined) => (n === undefined ? '' : lasted(n * 1000))

/** UpgradeSteps are those of an upgrade that goes on or has ended: how far each is, and what it waits for. */
export function UpgradeSteps({ steps }: { steps: readonly UpgradeStep[] }) {
  const now = useNow()
  return (
    <DataTable
      label="Steps"
      columns={[
        { name: 'Step', cell: (step) => step.name, modifier: 'breakWord', width: 25 },
        { name: 'State', cell: (step) => <State of={step.state} />, modifier: 'nowrap' },
        { name: 'Took', cell: (step) => seconds(secondsOf(step, now)), modifier: 'nowrap' },
        ...lastTime(steps),
        { name: 'Why', cell: (step) => <Foreign text={step.message || step.why || ''} />, modifier: 'breakWord' },
      ]}
      rows={[...steps]}
      keyOf={(step) => step.name}
      empty={<p className="kq-quiet">Its steps are not known yet.</p>}
    />
  )
}

/** PlannedSteps are those that an upgrade would have. */
export function PlannedSteps({ steps }: { steps: readonly UpgradePlanStep[] }) {
  return (
    <DataTable
      label="Steps"
      columns={[
        { name: 'Step', cell: (step) => step.name, modifier: 'breakWord', width: 25 },
        ...lastTime(steps),
        {
          name: 'Why',
          cell: (step) => <Foreign text={step.skipped ? `skipped: ${step.skipped}` : (step.why ?? '')} />,
          modifier: 'breakWord',
        },
      ]}
      rows={[...steps]}
      keyOf={(step) => step.name}
      empty={<p className="kq-quiet">The cluster has this version already.</p>}
    />
  )
}

/** lastTime is the column of how long steps took in the last upgrade, where there was one. */
function lastTime<T extends { lastSeconds?: number }>(steps: readonly T[]): Column<T>[] {
  if (!steps.some((step) => step.lastSeconds)) return []
  return [{ name: 'Last time', cell: (step) => seconds(step.lastSeconds || undefined), modifier: 'nowrap' }]
}

function State({ of }: { of: UpgradeStep['state'] }) {
  return (
    <Label isCompact variant="outline" status={looks[of].status}>
      {looks[of].word}
    </Label>
  )
}
