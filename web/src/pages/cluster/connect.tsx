import { Card, CardBody, CardTitle, Flex, Form, FormGroup, List, ListItem, Radio, Stack } from '@patternfly/react-core'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import { downloadYaml } from '../../app/download'
import { useMe } from '../../app/queries'
import { type Access, accessesOf, highestAccess, isAdopted } from '../../logic/cluster'
import { allowed, type Permission } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { ChoiceField } from '../../ui/field'
import { Copied, FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { BreakGlass } from './breakglass'
import type { TabProps } from './index'

const hour = { seconds: 3600, flag: '1h', name: '1 hour' }
const lifetimes = [
  { seconds: 600, flag: '10m', name: '10 minutes' },
  hour,
  { seconds: 8 * 3600, flag: '8h', name: '8 hours' },
  { seconds: 24 * 3600, flag: '24h', name: '24 hours' },
]

/** Connect lets a user into the cluster: by the command line, or by a kubeconfig. */
export function Connect({ of, cluster }: TabProps) {
  const me = useMe()
  const highest = highestAccess(me, of.organization)
  const [access, setAccess] = useState<Access>(highest ?? 'view')
  const [seconds, setSeconds] = useState(3600)
  const lifetime = lifetimes.find((one) => one.seconds === seconds) ?? hour
  const flags = [
    `--org ${shellWord(of.organization)}`,
    access === highest ? '' : `--access ${access}`,
    seconds === 3600 ? '' : `--lifetime ${lifetime.flag}`,
  ]
  const rest = [shellWord(of.cluster), ...flags].filter(Boolean).join(' ')
  const path = `/api/v1/organizations/${of.organization}/clusters/${of.cluster}/kubeconfig`
  return (
    <Stack hasGutter>
      <Card>
        <CardTitle component="h2">Connect to {of.cluster}</CardTitle>
        <CardBody>
          <Stack hasGutter>
            <Choice
              organization={of.organization}
              access={access}
              set={setAccess}
              seconds={seconds}
              setSeconds={setSeconds}
            />
            <div>
              <p>With kqueen on your machine, sign in once:</p>
              <Copied text={`kqueen login ${location.origin}`} />
            </div>
            <div>
              <p>Then connect: kubectl, Helm and other tools work with the cluster from there on.</p>
              <Copied text={`kqueen cluster connect ${rest}`} />
            </div>
            <div>
              <p>See that it works:</p>
              <Copied text="kubectl get namespaces" />
            </div>
            <Expiry name={lifetime.name} />
            <Flex spaceItems={{ default: 'spaceItemsSm' }}>
              <Download of={of} cluster={cluster} access={access} seconds={seconds} />
              <FromCli
                lines={[
                  { about: 'Merge it into your kubeconfig and use it', command: `kqueen cluster connect ${rest}` },
                  {
                    about: 'Write it into a file',
                    command: `kqueen cluster kubeconfig ${rest} --kubeconfig-out ${shellWord(`${of.cluster}.kubeconfig`)}`,
                  },
                ]}
                calls={[{ method: 'POST', path, body: { access, lifetimeSeconds: seconds } }]}
              />
            </Flex>
          </Stack>
        </CardBody>
      </Card>
      {!isAdopted(cluster) && <BreakGlass of={of} cluster={cluster} />}
    </Stack>
  )
}

interface ChoiceProps {
  organization: string
  access: Access
  set: (access: Access) => void
  seconds: number
  setSeconds: (seconds: number) => void
}

function Choice({ organization, access, set, seconds, setSeconds }: ChoiceProps) {
  const me = useMe()
  return (
    <Form onSubmit={(event) => event.preventDefault()}>
      <FormGroup role="radiogroup" label="Role in the cluster" fieldId="access" isInline>
        {accessesOf(me, organization).map((one) => (
          <Radio
            key={one.access}
            id={`access-${one.access}`}
            name="access"
            label={one.access}
            description={one.permission.allowed ? one.about : one.permission.why}
            isDisabled={!one.permission.allowed}
            isChecked={access === one.access}
            onChange={() => set(one.access)}
          />
        ))}
      </FormGroup>
      <ChoiceField
        label="Lifetime of a credential"
        value={String(seconds)}
        onChange={(value) => setSeconds(Number(value))}
        choices={lifetimes.map((one) => ({ value: String(one.seconds), text: one.name }))}
      />
    </Form>
  )
}

function Expiry({ name }: { name: string }) {
  return (
    <List>
      <ListItem>
        The kubeconfig holds no secret and does not expire: it asks kqueen for a credential when one is needed.
      </ListItem>
      <ListItem>
        A credential expires after {name}, or earlier with your session or token; kubectl then gets another by itself.
      </ListItem>
      <ListItem>When you lose your role in the organization, no new credential is issued.</ListItem>
    </List>
  )
}

function Download({ of, cluster, access, seconds }: TabProps & { access: Access; seconds: number }) {
  const me = useMe()
  const tell = useTell()
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const chosen = accessesOf(me, of.organization).find((one) => one.access === access)?.permission ?? allowed
  const permission: Permission =
    chosen.allowed && cluster.deletionRequestedAt ? { allowed: false, why: 'The cluster is being deleted.' } : chosen
  const download = async () => {
    setBusy(true)
    setError(undefined)
    try {
      const made = await ok(
        api.POST('/api/v1/organizations/{organization}/clusters/{cluster}/kubeconfig', {
          params: { path: of },
          body: { access, lifetimeSeconds: seconds, uid: cluster.uid },
        }),
      )
      downloadYaml(`${of.organization}-${of.cluster}.kubeconfig`, made.kubeconfig)
      tell(`The kubeconfig of ${of.cluster} is downloaded, with the role ${made.access}`)
    } catch (e) {
      setError(e)
    }
    setBusy(false)
  }
  return (
    <>
      {error !== undefined && <ProblemAlert title="There is no kubeconfig" error={error} />}
      <Guarded
        permission={permission}
        variant="secondary"
        isLoading={busy}
        isDisabled={busy}
        onClick={() => void download()}
      >
        Download the kubeconfig
      </Guarded>
    </>
  )
}
