import { Button, Flex } from '@patternfly/react-core'
import { useState } from 'react'
import { useMe } from '../../app/queries'
import { readable } from '../../logic/foreign'
import { may } from '../../logic/roles'
import { Guarded } from '../../ui/guarded'
import { Console, type Shown } from './console'
import type { Container } from './workloads'

/** ContainerActions shows the log of a container, or opens a shell in it. */
export function ContainerActions({ of }: { of: Container }) {
  const me = useMe()
  const [shown, setShown] = useState<Shown>()
  const at = {
    organization: of.organization,
    cluster: of.cluster,
    clusterUID: of.clusterUID,
    namespace: of.namespace,
    pod: of.pod,
    container: of.container,
  }
  return (
    <>
      <Flex spaceItems={{ default: 'spaceItemsSm' }} flexWrap={{ default: 'nowrap' }}>
        <Button
          variant="link"
          isInline
          aria-label={`Log of ${readable(of.container)} in ${readable(of.pod)}`}
          onClick={() => setShown({ what: 'log', of: at })}
        >
          Log
        </Button>
        <Guarded
          variant="link"
          isInline
          permission={may(me, of.organization, 'developer')}
          aria-label={`Shell in ${readable(of.container)} of ${readable(of.pod)}`}
          onClick={() => setShown({ what: 'terminal', of: at })}
        >
          Shell
        </Guarded>
      </Flex>
      {shown && <Console shown={shown} close={() => setShown(undefined)} />}
    </>
  )
}
