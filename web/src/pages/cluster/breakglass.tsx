import { Alert, AlertActionLink, Card, CardBody, CardTitle, Stack } from '@patternfly/react-core'
import { useState } from 'react'
import { ApiError, api, ok, signInAgain } from '../../api/client'
import { downloadYaml } from '../../app/download'
import { useMe } from '../../app/queries'
import { may } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { FormDialog } from '../../ui/formdialog'
import { Copied } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { useTell } from '../../ui/toasts'
import type { TabProps } from './index'

/** BreakGlass gives owners the kubeconfig of the cluster's own administrator, for emergencies. */
export function BreakGlass({ of }: TabProps) {
  const [open, setOpen] = useState(false)
  const [stale, setStale] = useState(false)
  const tell = useTell()
  const permission = may(useMe(), of.organization, 'owner')
  const run = async () => {
    try {
      const made = await ok(
        api.POST('/api/v1/organizations/{organization}/clusters/{cluster}/breakglass', { params: { path: of } }),
      )
      downloadYaml(`${of.organization}-${of.cluster}.break-glass.kubeconfig`, made.kubeconfig)
      tell(
        'The break-glass kubeconfig is downloaded. Keep it secret, and delete it when the emergency is over.',
        'info',
      )
    } catch (error) {
      if (!(error instanceof ApiError && error.problem.code === 'needs-fresh-session')) throw error
      setStale(true)
    }
  }
  return (
    <Card>
      <CardTitle component="h2">For emergencies: break glass</CardTitle>
      <CardBody>
        <Stack hasGutter>
          <p>
            When KQueen cannot issue credentials, the kubeconfig of the cluster’s own administrator still works. It
            belongs to no user, does not expire, and each time that it is issued is in the audit log.
          </p>
          {stale && (
            <Alert
              component="p"
              isInline
              variant="warning"
              title="You signed in too long ago for that"
              actionLinks={<AlertActionLink onClick={signInAgain}>Sign in again</AlertActionLink>}
            >
              A break-glass kubeconfig is issued only shortly after you have signed in. You come back to this page.
            </Alert>
          )}
          <div>
            <Guarded permission={permission} variant="warning" onClick={() => setOpen(true)}>
              Get the break-glass kubeconfig
            </Guarded>
          </div>
          <div>
            <p>By the command line:</p>
            <Copied
              text={`kqueen cluster kubeconfig ${shellWord(of.cluster)} --org ${shellWord(of.organization)} --break-glass`}
            />
          </div>
        </Stack>
        {open && (
          <FormDialog
            isDanger
            title={`Break glass for ${of.cluster}?`}
            act="Download it"
            typed={of.cluster}
            run={run}
            close={() => setOpen(false)}
          >
            <p>
              Whoever has this file administers the cluster, and cannot be shut out but by deleting the cluster. Your
              name is written into the audit log.
            </p>
          </FormDialog>
        )}
      </CardBody>
    </Card>
  )
}
