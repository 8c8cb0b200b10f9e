import type { Json } from '../../logic/diff'
import { editableOf } from '../../logic/document'
import type { Permission } from '../../logic/roles'
import { FormDialog } from '../../ui/formdialog'
import { Guarded } from '../../ui/guarded'
import { useTell } from '../../ui/toasts'
import { type Of, readCluster, useAskAgain } from './data'
import type { TabProps } from './index'
import { write } from './write'

/** change says of a cluster whether it is to sleep, and since when its user wants that. */
async function change(of: Of, asleep: boolean) {
  const now = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const found = await readCluster(of)
  const document = editableOf(found.object)
  const before = (document.spec as Partial<Spec> | undefined)?.hibernation
  const hibernation = { ...before, asleep, [asleep ? 'sleepRequestTime' : 'wakeRequestTime']: now }
  const { theirs } = await write(
    of,
    { ...document, spec: { ...(document.spec as Spec), hibernation } },
    { document, etag: found.etag },
    false,
  )
  if (theirs) throw new Error(`Cluster ${of.cluster} was changed meanwhile. Look at it, and try again.`)
}

type Spec = { [field: string]: Json; hibernation: { [field: string]: Json } }

interface SleepOrWakeProps extends TabProps {
  permission: Permission
  /** Asks before the cluster goes to sleep: pods end. */
  sleep: () => void
}

/** SleepOrWake is the button that does what the cluster does not do now. */
export function SleepOrWake({ of, cluster, permission, sleep }: SleepOrWakeProps) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const wake = async () => {
    try {
      await change(of, false)
      tell(`Cluster ${of.cluster} wakes`)
      askAgain()
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error), 'danger')
    }
  }
  if (cluster.status?.hibernation?.asleep) {
    return (
      <Guarded permission={permission} variant="secondary" onClick={() => void wake()}>
        Wake
      </Guarded>
    )
  }
  return (
    <Guarded permission={permission} variant="secondary" onClick={sleep}>
      Sleep
    </Guarded>
  )
}

/** Sleep asks before a cluster goes to sleep. */
export function Sleep({ of, close }: { of: Of; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const run = async () => {
    await change(of, true)
    tell(`Cluster ${of.cluster} goes to sleep`)
    askAgain()
  }
  return (
    <FormDialog title={`Put cluster ${of.cluster} to sleep?`} act="Put it to sleep" run={run} close={close}>
      <p>
        Its control plane and its machines on KQueen’s host end, and so do pods there. What is stored stays. A client
        that connects wakes the cluster and waits for the answer; its CronJobs wake it a minute before they are due.
      </p>
    </FormDialog>
  )
}
