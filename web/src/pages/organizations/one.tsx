import { PageSection } from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { organizationQuery } from '../../app/catalogue'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { mayAdminister } from '../../logic/roles'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { HealthLabel } from '../../ui/health'
import { PageHead } from '../../ui/page'
import { ProblemAlert } from '../../ui/problem'
import { Tabs } from '../../ui/tabs'
import { Accounts } from './accounts'
import { Activity } from './activity'
import { cliOf } from './cli'
import { DeleteOrganization } from './delete'
import { useOrganizationsLive } from './live'
import { Members } from './members'
import { QuotaPart } from './quota'
import { Settings } from './settings'

export default function Page() {
  const { organization: name = '' } = useParams({ strict: false })
  const me = useMe()
  const [{ tab = 'members', account }] = useUrlState()
  const [going, setGoing] = useState(false)
  const navigate = useNavigate()
  const leave = () => void navigate({ to: '/organizations', search: {} })
  const { live, refetchInterval } = useOrganizationsLive()
  const one = useQuery({ ...organizationQuery(name), refetchInterval })
  const object = one.data?.object
  const role = me.roles[name] ?? (mayAdminister(me).allowed ? 'administrator of the installation' : undefined)
  return (
    <>
      <PageHead
        title={name}
        about={
          [object?.spec?.displayName, role && `Your role: ${role}.`].filter(Boolean).join('. ') || 'An organization.'
        }
        above={[{ to: '/organizations', name: 'Organizations' }]}
        mark={object && <HealthLabel of={object} />}
        live={live}
        actions={
          <>
            <FromCli {...cliOf(name, tab, account)} />
            <Guarded permission={mayAdminister(me)} variant="secondary" isDanger onClick={() => setGoing(true)}>
              Delete
            </Guarded>
          </>
        }
      />
      {one.error && (
        <PageSection>
          <ProblemAlert error={one.error} again={() => void one.refetch()} />
        </PageSection>
      )}
      {!(one.error && !one.data) && (
        <Tabs
          label={`Parts of ${name}`}
          forget={['account', 'type', 'kind']}
          tabs={[
            { key: 'members', title: 'Members', content: () => <Members organization={name} /> },
            { key: 'quota', title: 'Quota', content: () => <QuotaPart organization={name} object={object} /> },
            { key: 'accounts', title: 'Service accounts', content: () => <Accounts organization={name} /> },
            { key: 'settings', title: 'Settings', content: () => <Settings name={name} tagged={one.data} /> },
            { key: 'activity', title: 'Activity', content: () => <Activity organization={name} /> },
          ]}
        />
      )}
      {going && <DeleteOrganization name={name} close={() => setGoing(false)} done={leave} />}
    </>
  )
}
