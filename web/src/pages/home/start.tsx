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
import { useMayCreate } from '../../app/maycreate'
import { shellWord } from '../../logic/shell'
import { Copied } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'

function Actions({ org, first }: { org?: string; first?: boolean }) {
  const permission = useMayCreate(org)
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
        <div className="kq-row">
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
        <Copied text={`kqueen member set ${shellWord(`user:${name}`)} --role developer --org ORGANIZATION`} />
        <EmptyStateActions>
          <Button variant="link" onClick={() => location.reload()}>
            I was added: look again
          </Button>
        </EmptyStateActions>
      </EmptyStateFooter>
    </EmptyState>
  )
}
