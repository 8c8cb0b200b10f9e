import { Button, PageSection, Spinner } from '@patternfly/react-core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperable } from '../../app/catalogue'
import { useUrlState } from '../../app/urlstate'
import { shellWord } from '../../logic/shell'
import { Empty } from '../../ui/empty'
import { FromCli } from '../../ui/fromcli'
import { PageHead } from '../../ui/page'
import type { Adopted } from './adopt'
import { AdoptForm } from './form'
import { Waiting } from './waiting'

/** What the page is about: a cluster that others run. Where it was adopted just now is kept in the URL, and survives a reload. */
export default function ImportPage() {
  const [state, set] = useUrlState()
  const { organizations, isPending } = useOperable()
  const [adopted, setAdopted] = useState<Adopted>()
  const [waitingOrganization = '', waitingName = ''] = (state.waiting ?? '').split('/')
  const waiting = waitingOrganization && waitingName
  const first = state.org && organizations.includes(state.org) ? state.org : (organizations[0] ?? '')
  const o = waitingOrganization || first
  const name = waitingName || 'NAME'
  return (
    <>
      <PageHead
        title="Import a cluster"
        above={[{ to: '/clusters', name: 'Clusters' }]}
        about="Adopt a cluster that others run. KQueen looks at it and changes nothing in it; deleting it here leaves it as it is."
        actions={<FromCli lines={linesOf(o, name)} calls={callsOf(o, name)} />}
      />
      <PageSection>
        {isPending && <Spinner aria-label="Loading" />}
        {!isPending && organizations.length === 0 && (
          <Empty
            title="You may import clusters into no organization"
            actions={
              <Button variant="link" component={(props) => <Link {...props} to="/organizations" search={{}} />}>
                See your organizations
              </Button>
            }
          >
            This needs the role operator or owner in an organization. One of its owners can give it to you.
          </Empty>
        )}
        {!isPending &&
          organizations.length > 0 &&
          (waiting ? (
            <Waiting
              organization={waitingOrganization}
              name={waitingName}
              adopted={adopted}
              again={() => set({ waiting: undefined })}
            />
          ) : (
            <AdoptForm
              organizations={organizations}
              first={first}
              done={(made) => {
                setAdopted(made)
                set({ waiting: `${made.organization}/${made.name}` })
              }}
            />
          ))}
      </PageSection>
    </>
  )
}

function linesOf(organization: string, name: string) {
  const begin = `kqueen cluster import ${shellWord(name)} --org ${shellWord(organization || 'ORGANIZATION')}`
  return [
    {
      about: 'With an account of its own; nothing of your kubeconfig is sent:',
      command: `${begin} --kubeconfig FILE --service-account --members --wait`,
    },
    {
      about: 'With one context of a kubeconfig:',
      command: `${begin} --kubeconfig FILE --kubeconfig-context CONTEXT --wait`,
    },
    { about: 'By an agent in it:', command: `${begin} --agent --members` },
  ]
}

function callsOf(organization: string, name: string) {
  const path = `/api/v1/organizations/${organization || 'ORGANIZATION'}/clusters`
  return [
    {
      method: 'POST',
      path,
      body: { name, spec: { provisionerRef: { name: 'imported', namespace: 'kqueen-system' } } },
    },
    { method: 'PUT', path: `${path}/${name}/credentials`, body: { kubeconfig: '…' } },
    { method: 'POST', path: `${path}/${name}/agent`, body: { members: true } },
  ]
}
