import { NumberInput } from '@patternfly/react-core'
import { useState } from 'react'
import type { NodePool } from '../../api/objects'
import { replicasFault } from '../../logic/nodepool'
import { count } from '../../logic/quantity'
import { Field } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { scalePool, useAskAgain } from './data'

/** ScalePool asks how many nodes a pool shall have. */
export function ScalePool({ pool, close }: { pool: NodePool; close: () => void }) {
  const now = pool.spec?.replicas ?? 1
  const [text, setText] = useState(String(now))
  const tell = useTell()
  const askAgain = useAskAgain()
  const bounds = { min: pool.spec?.minReplicas, max: pool.spec?.maxReplicas }
  const fault = replicasFault(text, bounds)
  const wanted = Number(text)
  const step = (by: number) => setText(String((Number.isInteger(wanted) ? wanted : now) + by))
  const run = async (dryRun: boolean) => {
    await scalePool(pool, wanted, dryRun)
    if (!dryRun) {
      tell(`Node pool ${pool.name} is being scaled to ${count(wanted, 'node')}`)
      askAgain()
    }
    return `${pool.name} would have ${count(wanted, 'node')} instead of ${now}.`
  }
  return (
    <FormDialog
      title={`Scale node pool ${pool.name}`}
      about={`It is to have ${count(now, 'node')} now.`}
      act="Scale"
      check={{ of: text }}
      run={run}
      isIncomplete={fault !== undefined || wanted === now}
      close={close}
    >
      <Field id="scale-nodes" label="Nodes" error={fault} help={`From ${bounds.min ?? 0} to ${bounds.max ?? 1000}.`}>
        <NumberInput
          value={text === '' ? '' : wanted}
          min={bounds.min ?? 0}
          max={bounds.max ?? 1000}
          onMinus={() => step(-1)}
          onPlus={() => step(1)}
          onChange={(event) => setText(event.currentTarget.value)}
          inputProps={{ id: 'scale-nodes' }}
          inputAriaLabel="Nodes"
          minusBtnAriaLabel="One less"
          plusBtnAriaLabel="One more"
          validated={fault ? 'error' : 'default'}
        />
      </Field>
      {pool.spec?.autoscaling && <p>It is scaled by the need of pods, which may change this again.</p>}
      {!fault && wanted < now && (
        <p>
          {count(now - wanted, 'node')} will be removed. Pods leave a node before it goes; what is only on its disk is
          lost.
        </p>
      )}
    </FormDialog>
  )
}
