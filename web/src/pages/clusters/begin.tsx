import { FlexItem } from '@patternfly/react-core'
import { useNavigate } from '@tanstack/react-router'
import { useMayCreate } from '../../app/maycreate'
import { useUrlState } from '../../app/urlstate'
import { Guarded } from '../../ui/guarded'

/** Begin leads to the two ways to have a cluster. */
export function Begin() {
  const [{ org }] = useUrlState()
  const permission = useMayCreate(org)
  const navigate = useNavigate()
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
