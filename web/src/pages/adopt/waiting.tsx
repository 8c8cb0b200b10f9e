import { Alert, Button, Flex, ProgressStep, ProgressStepper, Stack, Title } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { useLive } from '../../api/live'
import { type Cluster, condition } from '../../api/objects'
import { type AdoptionStep, adoptionSteps } from '../../logic/adoption'
import { mostInDetail, readable } from '../../logic/foreign'
import { Age, useNow } from '../../ui/age'
import { Foreign } from '../../ui/foreign'
import { FormDialog } from '../../ui/formdialog'
import { Copied } from '../../ui/fromcli'
import { LiveMark } from '../../ui/livemark'
import { ProblemAlert } from '../../ui/problem'
import { type Adopted, letGo } from './adopt'

interface WaitingProps {
  organization: string
  name: string
  /** Absent after a reload: what starts the agent is not shown twice. */
  adopted?: Adopted
  again: () => void
}

/** Waiting shows how far the adoption is, until the cluster is ready. */
export function Waiting({ organization, name, adopted, again }: WaitingProps) {
  const path = { organization, cluster: name }
  const cluster = useQuery({
    queryKey: ['clusters', organization, name, 'import'],
    queryFn: () => ok(api.GET('/api/v1/organizations/{organization}/clusters/{cluster}', { params: { path } })),
  })
  const live = useLive(
    `/api/v1/organizations/${encodeURIComponent(organization)}/clusters?name=${encodeURIComponent(name)}`,
    [['clusters', organization, name, 'import']],
  )
  const steps = adoptionSteps(cluster.data)
  const isReady = condition(cluster.data ?? ({ kind: '' } as Cluster), 'Ready')?.status === 'True'
  return (
    <Flex direction={{ default: 'column' }} spaceItems={{ default: 'spaceItemsLg' }}>
      {adopted?.agent && !isReady && <Start agent={adopted.agent} />}
      <section aria-labelledby="progress">
        <Stack hasGutter>
          <Flex spaceItems={{ default: 'spaceItemsSm' }}>
            <Title headingLevel="h2" size="lg" id="progress" className="kq-wrap">
              Import of {name} into {organization}
            </Title>
            <LiveMark state={live} />
          </Flex>
          <ProblemAlert error={cluster.error} again={() => void cluster.refetch()} />
          <div aria-live="polite">
            {cluster.data && <Steps steps={steps} />}
            {isReady && (
              <Alert isInline component="p" variant="success" title={`${name} is ready`}>
                It runs Kubernetes <Foreign text={cluster.data?.status?.version} />.
              </Alert>
            )}
          </div>
        </Stack>
      </section>
      <Next organization={organization} name={name} isReady={isReady} again={again} />
    </Flex>
  )
}

function Steps({ steps }: { steps: AdoptionStep[] }) {
  return (
    <ProgressStepper isVertical aria-label="Progress of the import">
      {steps.map((step) => (
        <ProgressStep
          key={step.title}
          id={`step-${step.title}`}
          titleId={`title-${step.title}`}
          variant={step.state}
          isCurrent={step.state === 'info'}
          description={readable(step.message, mostInDetail)}
          aria-label={`${step.title}: ${step.said}`}
        >
          {step.title}
        </ProgressStep>
      ))}
    </ProgressStepper>
  )
}

function Start({ agent }: { agent: NonNullable<Adopted['agent']> }) {
  const now = useNow()
  const expired = new Date(agent.expiresAt) <= now
  if (expired) {
    return (
      <Alert isInline component="p" variant="warning" title="The token of this command has expired">
        Import the cluster again to get another one.
      </Alert>
    )
  }
  return (
    <section aria-labelledby="start">
      <Stack hasGutter>
        <Title headingLevel="h2" size="lg" id="start">
          Run this where kubectl has the cluster
        </Title>
        <div>
          <Copied text={agent.command} />
        </div>
        <div className="kq-quiet">
          It applies the manifests of the agent to the cluster of the current context. It has a token in it, which
          enrolls one agent and is not shown again. Expires: <Age at={agent.expiresAt} />
        </div>
      </Stack>
    </section>
  )
}

function Next({ organization, name, isReady, again }: WaitingProps & { isReady: boolean }) {
  const navigate = useNavigate()
  const client = useQueryClient()
  const [asking, setAsking] = useState(false)
  const open = () =>
    void navigate({
      to: '/organizations/$organization/clusters/$cluster',
      params: { organization, cluster: name },
      search: (before) => ({ org: before.org }),
    })
  return (
    <Flex spaceItems={{ default: 'spaceItemsSm' }}>
      <Button variant={isReady ? 'primary' : 'secondary'} onClick={open}>
        Go to the cluster
      </Button>
      <Button variant="link" onClick={again}>
        {isReady ? 'Import another one' : 'Back to the form'}
      </Button>
      {!isReady && (
        <Button variant="link" isDanger onClick={() => setAsking(true)}>
          Give up and forget {name}
        </Button>
      )}
      {asking && (
        <FormDialog
          isDanger
          title={`Forget ${name}?`}
          act="Forget it"
          close={() => setAsking(false)}
          run={async () => {
            await letGo({ organization, name })
            void client.invalidateQueries({ queryKey: ['clusters'] })
            again()
          }}
        >
          KQueen forgets the cluster, and its kubeconfig or the token of its agent. The cluster itself stays as it is.
        </FormDialog>
      )}
    </Flex>
  )
}
