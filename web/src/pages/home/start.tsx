import {
  Button,
  Card,
  CardBody,
  CardTitle,
  EmptyState,
  EmptyStateActions,
  EmptyStateBody,
  EmptyStateFooter,
} from '@patternfly/react-core'
import CubesIcon from '@patternfly/react-icons/dist/esm/icons/cubes-icon'
import UsersIcon from '@patternfly/react-icons/dist/esm/icons/users-icon'
import { useNavigate } from '@tanstack/react-router'
import { useMe } from '../../app/queries'
import { may, mayAdminister, organizationsFor, type Permission } from '../../logic/roles'
import { Copied } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'

/** useCreate says whether a user may create clusters: in the chosen organization, or in any. */
function useCreate(org?: string): Permission {
  const me = useMe()
  if (org) return may(me, org, 'operator')
  if (mayAdminister(me).allowed || organizationsFor(me, 'operator').length > 0) return { allowed: true }
  return { allowed: false, why: 'This needs the role operator or owner in an organization; you have neither in any.' }
}

function Actions({ org, first }: { org?: string; first?: boolean }) {
  const permission = useCreate(org)
  const navigate = useNavigate()
  return (
    <>
      <Guarded
        permission={permission}
        variant={first ? 'primary' : 'secondary'}
        onClick={() => void navigate({ to: '/create', search: { org } })}
      >
        Create a cluster
      </Guarded>{' '}
      <Guarded
        permission={permission}
        variant={first ? 'link' : 'secondary'}
        onClick={() => void navigate({ to: '/import', search: { org } })}
      >
        Import a cluster
      </Guarded>
    </>
  )
}

function Connect() {
  return (
    <>
      <p>Connect the command line to this installation; it signs in with your browser:</p>
      <Copied text={`kqueen login ${location.origin}`} />
    </>
  )
}

/** Start leads to what users come for. */
export function Start({ org }: { org?: string }) {
  return (
    <Card isCompact isFullHeight>
      <CardTitle component="h2">Start here</CardTitle>
      <CardBody className="kq-home-start">
        <div>
          <Actions org={org} />
        </div>
        <Connect />
        <p className="kq-small">
          <a href="/docs">Documentation</a>
        </p>
      </CardBody>
    </Card>
  )
}

/** First is what there is before the first cluster. */
export function First({ org }: { org?: string }) {
  return (
    <EmptyState
      titleText={org ? `${org} has no cluster yet` : 'There is no cluster yet'}
      headingLevel="h2"
      icon={CubesIcon}
    >
      <EmptyStateBody>
        Create one: it is there in seconds where KQueen hosts its control plane. Or import one that runs already;
        nothing in it has to change.
      </EmptyStateBody>
      <EmptyStateFooter>
        <EmptyStateActions>
          <Actions org={org} first />
        </EmptyStateActions>
      </EmptyStateFooter>
      <EmptyStateFooter>
        <Connect />
      </EmptyStateFooter>
    </EmptyState>
  )
}

/** Alone tells a user who belongs to no organization who can add them. */
export function Alone({ name }: { name: string }) {
  return (
    <EmptyState titleText="You belong to no organization yet" headingLevel="h2" icon={UsersIcon}>
      <EmptyStateBody>
        Clusters belong to organizations, and you see those of yours. An owner of an organization or an administrator of
        this installation can add you. Send them this line, with the name of the organization in place of ORGANIZATION:
      </EmptyStateBody>
      <EmptyStateFooter>
        <Copied text={`kqueen member set user:${name} --role developer --org ORGANIZATION`} />
        <EmptyStateActions>
          <Button variant="link" onClick={() => location.reload()}>
            I was added: look again
          </Button>
        </EmptyStateActions>
      </EmptyStateFooter>
    </EmptyState>
  )
}
