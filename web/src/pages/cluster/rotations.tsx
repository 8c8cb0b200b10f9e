import { Alert, Label, type LabelProps, Stack } from '@patternfly/react-core'
import { useState } from 'react'
import type { Cluster } from '../../api/objects'
import { useMe } from '../../app/queries'
import { may, type Permission } from '../../logic/roles'
import {
  awaitsFinish,
  type Credential,
  credentials,
  dependents,
  endsSoon,
  hasEnded,
  kinds,
  type Rotation,
  type RotationStep,
  stepsOf,
} from '../../logic/rotation'
import { shellWord } from '../../logic/shell'
import { Age, useNow } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Foreign } from '../../ui/foreign'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { LiveMark } from '../../ui/livemark'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'
import type { Of } from './data'
import type { TabProps } from './index'
import { type ControlPlane, useControlPlane, useRotations } from './rotationdata'
import { Finish, Start } from './rotationdialogs'

type Open = { what: 'start'; credential: Credential } | { what: 'finish'; rotation: Rotation }

/** Rotations shows the credentials of a cluster, how far their rotations are, and starts and finishes them. */
export function Rotations({ of, cluster }: TabProps) {
  const [open, setOpen] = useState<Open>()
  const role = may(useMe(), of.organization, 'operator')
  const { rotations, live, error, again } = useRotations(of)
  const plane = useControlPlane(of)
  const close = () => setOpen(undefined)
  const busy = rotations?.find((one) => !hasEnded(one) && !one.deletionRequestedAt)
  const waiting = busy && awaitsFinish(busy) ? busy : undefined
  return (
    <Stack hasGutter>
      {waiting && (
        <Alert
          component="h2"
          isInline
          variant="info"
          title={`${credentials[waiting.spec?.credential ?? 'CertificateAuthority'].name}: old and new are both accepted`}
          actionLinks={
            <Guarded
              permission={role}
              variant="link"
              isInline
              onClick={() => setOpen({ what: 'finish', rotation: waiting })}
            >
              Finish the rotation
            </Guarded>
          }
        >
          {credentials[waiting.spec?.credential ?? 'CertificateAuthority'].before} Then finish.
        </Alert>
      )}
      <ProblemAlert error={error} again={again} />
      <Part
        title="Credentials"
        about="Each is replaced in two phases: start, and finish when nothing depends on the old one any more."
        actions={<Cli of={of} />}
      >
        <DataTable
          label="Credentials"
          columns={ofCredentials(permissionOf(role, cluster, busy), plane.data, (credential) =>
            setOpen({ what: 'start', credential }),
          )}
          rows={kinds}
          keyOf={(one) => one}
          empty={null}
        />
      </Part>
      {!error && (
        <Part title="Rotations" actions={<LiveMark state={live} />}>
          <DataTable
            label="Rotations"
            columns={columnsOf(role, (rotation) => setOpen({ what: 'finish', rotation }))}
            rows={rotations}
            keyOf={(one) => one.uid}
            empty={<p className="kq-quiet">No credential of the cluster was rotated yet.</p>}
          />
        </Part>
      )}
      {open?.what === 'start' && <Start of={of} credential={open.credential} close={close} />}
      {open?.what === 'finish' && <Finish of={of} rotation={open.rotation} close={close} />}
    </Stack>
  )
}

function permissionOf(role: Permission, cluster: Cluster, busy: Rotation | undefined): Permission {
  if (!role.allowed) return role
  if (cluster.deletionRequestedAt) return { allowed: false, why: 'The cluster is being deleted.' }
  if (busy) return { allowed: false, why: `The rotation ${busy.name} goes on: finish it first.` }
  return role
}

function ofCredentials(
  permission: Permission,
  plane: ControlPlane | undefined,
  start: (credential: Credential) => void,
): Column<Credential>[] {
  return [
    {
      name: 'Credential',
      cell: (one) => (
        <div>
          {credentials[one].name}
          <div className="kq-small kq-quiet">{credentials[one].does}</div>
        </div>
      ),
      width: 40,
    },
    {
      name: 'Ends',
      cell: (one) =>
        one === 'CertificateAuthority' ? (
          <Ends at={plane?.status?.authorityExpirationTime} />
        ) : (
          <span>never by itself</span>
        ),
      width: 25,
    },
    {
      name: 'Actions',
      cell: (one) => (
        <Guarded
          permission={permission}
          variant="secondary"
          size="sm"
          onClick={() => start(one)}
          aria-label={`Rotate: ${credentials[one].name}`}
        >
          Rotate
        </Guarded>
      ),
    },
  ]
}

/** Ends says when the first authority of the control plane ends. */
function Ends({ at }: { at?: string }) {
  const soon = endsSoon(at, useNow())
  if (!at) return <span>not known yet</span>
  if (!soon) return <Age at={at} />
  return (
    <Label isCompact status={new Date(at) < new Date() ? 'danger' : 'warning'}>
      <Age at={at} />
    </Label>
  )
}

const looks: Record<RotationStep['state'], { status?: LabelProps['status']; word: string }> = {
  done: { status: 'success', word: 'done' },
  working: { status: 'info', word: 'at work' },
  waits: { status: 'warning', word: 'waits for you' },
  failed: { status: 'danger', word: 'stuck' },
  pending: { word: 'to come' },
}

function columnsOf(role: Permission, finish: (rotation: Rotation) => void): Column<Rotation>[] {
  return [
    {
      name: 'Name',
      cell: (one) => (
        <div>
          <Foreign text={one.name} />
          <div className="kq-small kq-quiet">{credentials[one.spec?.credential ?? 'CertificateAuthority'].name}</div>
        </div>
      ),
      width: 20,
    },
    { name: 'Steps', cell: (one) => <Steps of={one} />, width: 35 },
    { name: 'Began', cell: (one) => <Age at={one.createdAt} />, modifier: 'nowrap' },
    { name: 'Ended', cell: (one) => <Age at={one.status?.completionTime} none="not yet" />, modifier: 'nowrap' },
    {
      name: 'Actions',
      cell: (one) =>
        hasEnded(one) || one.spec?.finish ? (
          <span>–</span>
        ) : (
          <Guarded permission={finishable(role, one)} variant="secondary" size="sm" onClick={() => finish(one)}>
            Finish
          </Guarded>
        ),
    },
  ]
}

function finishable(role: Permission, one: Rotation): Permission {
  if (!role.allowed || awaitsFinish(one)) return role
  return { allowed: false, why: 'It can be finished here once the new credential signs and all follow.' }
}

function Steps({ of }: { of: Rotation }) {
  const steps = stepsOf(of)
  const at = steps.find(({ state }) => state === 'working' || state === 'failed' || state === 'waits')
  return (
    <div>
      <div className="kq-row">
        {steps.map((step) => (
          <Label key={step.type} isCompact status={looks[step.state].status} variant="outline">
            {step.name}
            <span className="pf-v6-screen-reader">: {looks[step.state].word}</span>
          </Label>
        ))}
      </div>
      {[at?.message, ...(hasEnded(of) ? [] : dependents(of))].map(
        (text) =>
          text && (
            <div key={text} className="kq-small kq-quiet">
              <Foreign text={text} />
            </div>
          ),
      )}
    </div>
  )
}

function Cli({ of }: { of: Of }) {
  const flags = `${shellWord(of.cluster)} --org ${shellWord(of.organization)}`
  const path = `/api/v1/organizations/${encodeURIComponent(of.organization)}/rotations`
  return (
    <FromCli
      lines={[
        ...kinds.map((one) => ({
          about: `Rotate: ${credentials[one].name}`,
          command: `kqueen cluster rotate ${shellWord(credentials[one].command)} ${flags} --wait`,
        })),
        {
          about: 'See what depends on the old one',
          command: `kqueen rotation list --org ${shellWord(of.organization)}`,
        },
        { about: 'Finish the rotation, after asking', command: `kqueen cluster rotate finish ${flags} --wait` },
      ]}
      calls={[
        { method: 'GET', path: `${path}?cluster=${encodeURIComponent(of.cluster)}` },
        { method: 'POST', path, body: { name: 'NAME', spec: { clusterName: of.cluster, credential: kinds[0] } } },
        { method: 'PATCH', path: `${path}/NAME`, body: { spec: { finish: true } } },
      ]}
    />
  )
}
