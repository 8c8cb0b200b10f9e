import {
  DescriptionList,
  DescriptionListDescription,
  DescriptionListGroup,
  DescriptionListTerm,
  Grid,
  GridItem,
  Progress,
  Skeleton,
} from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Organization } from '../../api/objects'
import { useMe } from '../../app/queries'
import {
  type Quota,
  type QuotaLine,
  quotaErrors,
  quotaFlags,
  quotaForm,
  quotaLines,
  quotaPatch,
} from '../../logic/quota'
import { mayAdminister } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { FormDialog } from '../../ui/formdialog'
import { Copied } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { QuotaFields } from './quotafields'
import { patchSpec, quotaQuery } from './requests'

/** QuotaPart shows what an organization uses of what it may, and lets administrators change the limits. */
export function QuotaPart({ organization, object }: { organization: string; object?: Organization }) {
  const me = useMe()
  const [editing, setEditing] = useState(false)
  const quota = useQuery({ ...quotaQuery(organization), refetchInterval: 15_000 })
  return (
    <>
      <Part
        title="Use and limits"
        about="Requests at the same moment do not slip through together. What does not grow is let through, also above a limit."
        actions={
          <Guarded permission={mayAdminister(me)} isDisabled={!quota.data} onClick={() => setEditing(true)}>
            Change limits
          </Guarded>
        }
      >
        <ProblemAlert error={quota.error} again={() => void quota.refetch()} />
        {quota.isPending && <Skeleton height="12rem" screenreaderText="Loading the quota" />}
        {quota.data && (
          <Grid hasGutter md={6}>
            {quotaLines(quota.data).map((line) => (
              <GridItem key={line.key}>
                <Line line={line} />
              </GridItem>
            ))}
          </Grid>
        )}
      </Part>
      <br />
      {object && <MayUse object={object} />}
      {editing && quota.data && (
        <ChangeLimits organization={organization} quota={quota.data} close={() => setEditing(false)} />
      )}
    </>
  )
}

const variants = { full: 'danger', near: 'warning', free: undefined, unlimited: undefined } as const
const warnings = { full: ' – used up', near: ' – nearly used up', free: '', unlimited: '' }

function Line({ line }: { line: QuotaLine }) {
  const words = line.words + warnings[line.state]
  if (line.percent === undefined) {
    return (
      <>
        <div>{line.name}</div>
        <div className="kq-quiet">{words}</div>
      </>
    )
  }
  return (
    <Progress
      id={`quota-${line.key}`}
      title={line.name}
      value={Math.min(line.percent, 100)}
      label={words}
      valueText={words}
      variant={variants[line.state]}
      size="sm"
    />
  )
}

/** MayUse is what else administrators say of an organization. */
function MayUse({ object }: { object: Organization }) {
  const spec = object.spec ?? {}
  const list = (names: string[] | undefined, none: string) => (names?.length ? names.join(', ') : none)
  const terms = [
    ['Machine providers', list(spec.machineProviders, 'manual')],
    ['Weakest Pod Security level', spec.podSecurity ?? 'baseline'],
    ['Kubernetes releases', list(spec.releases, 'all')],
    ['Shared provisioners', list(spec.provisionerNames, 'all')],
    ['Drivers', list(spec.drivers, 'all')],
    ['Data stores', list(spec.dataStoreNames, 'those of the shared provisioners that it may use')],
    ['Its API servers may call', list(spec.egress?.allow, 'their own clusters alone')],
  ] as const
  return (
    <Part
      title="What it may use"
      about="Only administrators of the installation change this, in Settings or by kqueen organization update."
    >
      <DescriptionList isCompact columnModifier={{ default: '1Col', md: '2Col' }}>
        {terms.map(([term, value]) => (
          <DescriptionListGroup key={term}>
            <DescriptionListTerm>{term}</DescriptionListTerm>
            <DescriptionListDescription className="kq-wrap">{value}</DescriptionListDescription>
          </DescriptionListGroup>
        ))}
      </DescriptionList>
    </Part>
  )
}

function ChangeLimits({ organization, quota, close }: { organization: string; quota: Quota; close: () => void }) {
  const client = useQueryClient()
  const tell = useTell()
  const [before] = useState(() => quotaForm(quota))
  const [form, setForm] = useState(before)
  const patch = quotaPatch(before, form)
  const run = async () => {
    await patchSpec(organization, { quota: patch })
    tell(`The limits of ${organization} were changed`)
    await client.invalidateQueries({ queryKey: ['organizations'] })
  }
  return (
    <FormDialog
      isLarge
      title={`Limits of ${organization}`}
      act="Change limits"
      isIncomplete={!patch || Object.keys(quotaErrors(form)).length > 0}
      run={run}
      close={close}
    >
      <QuotaFields form={form} set={setForm} />
      {patch && (
        <div>
          <p className="kq-small kq-quiet">The same from the command line:</p>
          <Copied
            text={`kqueen organization update ${shellWord(organization)} ${quotaFlags(before, form).join(' ')}`}
          />
        </div>
      )}
    </FormDialog>
  )
}
