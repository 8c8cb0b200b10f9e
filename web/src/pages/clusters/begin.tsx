import { FlexItem } from '@patternfly/react-core'
import { useNavigate } from '@tanstack/react-router'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { allowed, may, mayAdminister, organizationsFor, type Permission } from '../../logic/roles'
import { Guarded } from '../../ui/guarded'

function useMayCreate(): Permission {
  const me = useMe()
  const [{ org }] = useUrlState()
  if (org) return may(me, org, 'operator')
  if (mayAdminister(me).allowed || organizationsFor(me, 'operator').length > 0) return allowed
  return { allowed: false, why: 'This needs the role operator or higher in an organization; you have it in none.' }
}

/** Begin leads to the two ways to have a cluster. */
export function Begin() {
  const permission = useMayCreate()
  const navigate = useNavigate()
  const [{ org }] = useUrlState()
  return (
    <>
      <FlexItem>
        <Guarded permission={permission} onClick={() => void navigate({ to: '/create', search: { org } })}>
          Create cluster
        </Guarded>
      </FlexItem>
      <FlexItem>
        <Guarded
          permission={permission}
          variant="secondary"
          onClick={() => void navigate({ to: '/import', search: { org } })}
        >
          Import cluster
        </Guarded>
      </FlexItem>
    </>
  )
}
