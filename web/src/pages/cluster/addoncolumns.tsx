import { Button, Label, type LabelProps, Switch, Tooltip } from '@patternfly/react-core'
import type { Schemas } from '../../api/client'
import type { Permission } from '../../logic/roles'
import type { Column } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import { Guarded } from '../../ui/guarded'

type Addon = Schemas['ClusterAddon']

/** AddonChange is what a user wants of an addon. */
export interface AddonChange {
  addon: Addon
  to: 'on' | 'off' | 'reset'
}

const sources: Record<string, string> = {
  cluster: 'this cluster',
  organization: 'the organization',
  provisioner: 'the provisioner',
  catalogue: 'the default',
  cni: 'the pod network (spec.cni)',
}

const states: Record<string, { status: LabelProps['status']; text: string }> = {
  Ready: { status: 'success', text: 'Ready' },
  Progressing: { status: 'info', text: 'In progress' },
  Failed: { status: 'danger', text: 'Failed' },
  UserOwned: { status: 'warning', text: 'Taken over by a user' },
}

/** addonColumns are the columns of the table of addons, with what changes them. */
export function addonColumns(
  permission: Permission,
  catalogue: Map<string, Schemas['Addon']>,
  set: (change: AddonChange) => void,
): Column<Addon>[] {
  return [
    {
      name: 'Addon',
      cell: (a) => (
        <>
          {a.name}
          <div className="kq-quiet kq-small">{catalogue.get(a.name)?.summary}</div>
        </>
      ),
      modifier: 'breakWord',
      width: 30,
    },
    { name: 'On', cell: (a) => <OnOff addon={a} permission={whether(a, permission)} set={set} /> },
    {
      name: 'Said by',
      cell: (a) => (
        <>
          {sources[a.from] ?? <Foreign text={a.from} />}{' '}
          {a.from === 'cluster' && (
            <Guarded
              permission={permission}
              variant="link"
              isInline
              onClick={() => set({ addon: a, to: 'reset' })}
              aria-label={`Reset ${a.name}`}
            >
              Reset
            </Guarded>
          )}
        </>
      ),
    },
    {
      name: 'State',
      cell: (a) => {
        const look = states[a.state ?? '']
        if (look)
          return (
            <Label isCompact status={look.status}>
              {look.text}
            </Label>
          )
        return a.enabled ? 'not seen yet' : 'off'
      },
    },
    { name: 'Version', cell: (a) => a.version ?? '–', modifier: 'breakWord' },
    { name: 'Message', cell: (a) => a.message ?? '', modifier: 'breakWord', width: 25 },
  ]
}

function whether(addon: Addon, permission: Permission): Permission {
  if (addon.from !== 'cni') return permission
  return { allowed: false, why: 'spec.cni of the cluster says whether it has this one, and cannot be changed.' }
}

function OnOff({
  addon,
  permission,
  set,
}: {
  addon: Addon
  permission: Permission
  set: (change: AddonChange) => void
}) {
  const toggle = (
    <Switch
      id={`addon-${addon.name}`}
      aria-label={`Addon ${addon.name}`}
      isChecked={addon.enabled}
      isDisabled={!permission.allowed}
      onChange={(_, on) => set({ addon, to: on ? 'on' : 'off' })}
    />
  )
  if (permission.allowed) return toggle
  return (
    <Tooltip content={permission.why}>
      <Button
        variant="plain"
        hasNoPadding
        isAriaDisabled
        aria-label={`Addon ${addon.name} is ${addon.enabled ? 'on' : 'off'}. ${permission.why}`}
      >
        {addon.enabled ? 'On' : 'Off'}
      </Button>
    </Tooltip>
  )
}
