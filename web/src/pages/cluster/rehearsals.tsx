import { Flex, FlexItem, Label, Stack, Title } from '@patternfly/react-core'
import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import type { Rehearsal } from '../../api/objects'
import { count } from '../../logic/quantity'
import type { Permission } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { Age } from '../../ui/age'
import { type Column, DataTable } from '../../ui/datatable'
import { Empty } from '../../ui/empty'
import { FormDialog } from '../../ui/formdialog'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { HealthAndWhy } from '../../ui/health'
import { LiveMark } from '../../ui/livemark'
import { ProblemAlert } from '../../ui/problem'
import { RowActions } from '../../ui/rowactions'
import { useTell } from '../../ui/toasts'
import { type Of, useAskAgain } from './data'
import type { TabProps } from './index'
import { deleteRehearsal, useRehearsals } from './rehearsaldata'
import { UpgradeFindings } from './upgradefindings'
import { useVersionChoice, versionNow } from './versionchoice'

/** Rehearsals shows what was found when upgrades of a cluster were tried in copies of what it stores. */
export function Rehearsals({ of, cluster, permission }: TabProps & { permission: Permission }) {
  const [asking, setAsking] = useState(false)
  const [doomed, setDoomed] = useState<Rehearsal>()
  const [chosen, setChosen] = useState<string>()
  const { data, error, refetch, live } = useRehearsals(of)
  const shown = data?.items.find(({ uid }) => uid === chosen) ?? data?.items[0]
  const create = (
    <Guarded permission={permission} variant="secondary" onClick={() => setAsking(true)}>
      Rehearse an upgrade
    </Guarded>
  )
  return (
    <Stack hasGutter>
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <FlexItem>
          <Title headingLevel="h2">
            Rehearsals <LiveMark state={live} />
          </Title>
          <p className="kq-quiet">
            Each tries an upgrade in a copy of all that the cluster stores; the cluster is only read.
          </p>
        </FlexItem>
        <Flex spaceItems={{ default: 'spaceItemsSm' }}>
          {create}
          <RehearsalCli of={of} rehearsal={shown?.name} />
        </Flex>
      </Flex>
      <ProblemAlert error={error} again={() => void refetch()} />
      {!error && (
        <DataTable
          label="Rehearsals"
          columns={columnsOf(permission, setChosen, setDoomed)}
          rows={data?.items}
          keyOf={(rehearsal) => rehearsal.uid}
          empty={<Empty title="No upgrade of this cluster was rehearsed yet" actions={create} />}
        />
      )}
      {shown && <Found rehearsal={shown} />}
      {asking && <Rehearse of={of} cluster={cluster} close={() => setAsking(false)} />}
      {doomed && <Remove rehearsal={doomed} close={() => setDoomed(undefined)} />}
    </Stack>
  )
}

/** Found is what one rehearsal has found. */
function Found({ rehearsal: { name, status } }: { rehearsal: Rehearsal }) {
  if (!status?.findings?.length) return null
  return (
    <>
      <Title headingLevel="h3">What {name} found</Title>
      <UpgradeFindings findings={status.findings} omitted={status.omittedFindings} />
    </>
  )
}

function columnsOf(
  role: Permission,
  show: (uid: string) => void,
  remove: (rehearsal: Rehearsal) => void,
): Column<Rehearsal>[] {
  return [
    { name: 'From', cell: ({ status }) => status?.fromVersion, modifier: 'nowrap' },
    { name: 'To', cell: ({ spec }) => spec?.version, modifier: 'nowrap' },
    { name: 'Health', cell: (rehearsal) => <HealthAndWhy of={rehearsal} /> },
    { name: 'Verdict', cell: (rehearsal) => <Verdict of={rehearsal} /> },
    { name: 'Objects', cell: ({ status }) => status?.copiedObjects, modifier: 'nowrap' },
    { name: 'Begun', cell: (rehearsal) => <Age at={rehearsal.createdAt} />, modifier: 'nowrap' },
    {
      name: 'Actions',
      cell: (rehearsal) => (
        <RowActions
          of={rehearsal.name}
          actions={[
            { name: 'Show what it found', permission: { allowed: true }, run: () => show(rehearsal.uid) },
            {
              name: rehearsal.status?.completionTime ? 'Delete the record' : 'End the rehearsal',
              permission: role,
              run: () => remove(rehearsal),
              isDanger: true,
            },
          ]}
        />
      ),
    },
  ]
}

/** Verdict says whether the upgrade would go well, once that is known. */
function Verdict({ of: { status } }: { of: Rehearsal }) {
  if (!status?.completionTime) return '–'
  const all = (status.findings?.length ?? 0) + (status.omittedFindings ?? 0)
  if (status.blockingFindings)
    return (
      <Label isCompact status="danger">
        {count(status.blockingFindings, 'finding')} would block or break it
      </Label>
    )
  return (
    <Label isCompact status={all > 0 ? 'warning' : 'success'}>
      {all > 0 ? `${count(all, 'finding')} to be known` : 'Nothing was found'}
    </Label>
  )
}

function Rehearse({ of, cluster, close }: TabProps & { close: () => void }) {
  const { version, field } = useVersionChoice(cluster)
  const tell = useTell()
  const askAgain = useAskAgain()
  // biome-ignore lint/correctness/useExhaustiveDependencies: one key for each form that is sent
  const key = useMemo(idempotencyKey, [version])
  const run = async () => {
    await ok(
      api.POST('/api/v1/organizations/{organization}/rehearsals', {
        params: { path: { organization: of.organization }, header: key },
        body: {
          // Each rehearsal is another one: the cluster has changed since the last.
          name: `${of.cluster}-${version}-${Math.floor(Date.now() / 1000).toString(36)}`,
          spec: { clusterName: of.cluster, version: version ?? '' },
        },
      }),
    )
    tell(`The upgrade of cluster ${of.cluster} to ${version} is being rehearsed`)
    askAgain()
  }
  return (
    <FormDialog
      title={`Rehearse an upgrade of cluster ${of.cluster}`}
      about={`It runs ${versionNow(cluster)}. All that it stores is copied, API servers of the versions on the way read and write each object there, and the copy is removed. The cluster is only read.`}
      act="Rehearse"
      run={run}
      isIncomplete={!version}
      close={close}
    >
      {field}
    </FormDialog>
  )
}

/** Remove ends a rehearsal that goes on, or deletes the record of one that has ended. */
function Remove({ rehearsal, close }: { rehearsal: Rehearsal; close: () => void }) {
  const tell = useTell()
  const askAgain = useAskAgain()
  const ended = !!rehearsal.status?.completionTime
  const run = async () => {
    await deleteRehearsal(rehearsal)
    tell(ended ? `The record of rehearsal ${rehearsal.name} is deleted` : `Rehearsal ${rehearsal.name} is being ended`)
    askAgain()
  }
  return (
    <FormDialog
      isDanger
      title={ended ? `Delete the record of rehearsal ${rehearsal.name}?` : `End rehearsal ${rehearsal.name}?`}
      act={ended ? 'Delete the record' : 'End the rehearsal'}
      run={run}
      close={close}
    >
      <p>
        {ended ? 'What it found is forgotten.' : 'Its copy is removed, with what runs over it.'} The cluster stays as it
        is.
      </p>
    </FormDialog>
  )
}

function RehearsalCli({ of, rehearsal = 'REHEARSAL' }: { of: Of; rehearsal?: string }) {
  const flags = `--org ${shellWord(of.organization)}`
  const path = `/api/v1/organizations/${encodeURIComponent(of.organization)}/rehearsals`
  return (
    <FromCli
      lines={[
        {
          about: 'Rehearse an upgrade, and fail if it would not go well',
          command: `kqueen cluster upgrade ${shellWord(of.cluster)} --to VERSION --rehearse --wait ${flags}`,
        },
        { about: 'What was found', command: `kqueen rehearsal describe ${shellWord(rehearsal)} ${flags}` },
        { about: 'End it', command: `kqueen rehearsal delete ${shellWord(rehearsal)} ${flags}` },
      ]}
      calls={[
        { method: 'GET', path: `${path}?cluster=${encodeURIComponent(of.cluster)}` },
        { method: 'POST', path, body: { name: 'NAME', spec: { clusterName: of.cluster, version: 'VERSION' } } },
      ]}
    />
  )
}
