import {
  Button,
  Flex,
  Grid,
  GridItem,
  PageSection,
  Stack,
  StackItem,
  ToggleGroup,
  ToggleGroupItem,
} from '@patternfly/react-core'
import { Link } from '@tanstack/react-router'
import { useUrlState } from '../../app/urlstate'
import { commandOf } from '../../logic/clustercommand'
import { inputOf, organizationOf } from '../../logic/clusterdocument'
import { FromCli } from '../../ui/fromcli'
import { PageHead } from '../../ui/page'
import { DocumentYaml } from './documentyaml'
import { EditingContext } from './draft'
import { ClusterForm } from './form'
import { Outcome } from './outcome'
import { Panel } from './panel'
import { useMaker } from './usemaker'

interface MakerProps {
  organization: string
  about: string
  above: { to: string; name: string }[]
}

/** Maker edits, checks and creates one document. */
export function Maker({ organization, about, above }: MakerProps) {
  const [state, set] = useUrlState()
  const maker = useMaker(organization, state.provisioner)
  const { draft } = maker
  const asYaml = state.tab === 'yaml' || maker.problems.length > 0
  const lines = [{ about: 'Create it:', command: commandOf(draft) }]
  const o = organizationOf(draft)
  const calls = [
    { method: 'POST', path: `/api/v1/organizations/${o}/clusters`, body: inputOf(draft.cluster) },
    ...(draft.pool
      ? [{ method: 'POST', path: `/api/v1/organizations/${o}/nodepools`, body: inputOf(draft.pool) }]
      : []),
  ]
  return (
    <EditingContext.Provider value={{ draft, setDraft: maker.setDraft, errors: maker.errors }}>
      <PageHead
        title="Create a cluster"
        about={about}
        above={above}
        actions={<FromCli lines={lines} calls={calls} />}
      />
      <PageSection>
        <Grid hasGutter>
          <GridItem xl={8}>
            <Stack hasGutter>
              <StackItem>
                <ToggleGroup aria-label="How to edit it">
                  <ToggleGroupItem
                    text="Form"
                    buttonId="as-form"
                    isSelected={!asYaml}
                    isDisabled={maker.problems.length > 0}
                    onChange={() => set({ tab: undefined })}
                  />
                  <ToggleGroupItem
                    text="YAML"
                    buttonId="as-yaml"
                    isSelected={asYaml}
                    onChange={() => set({ tab: 'yaml' })}
                  />
                </ToggleGroup>
              </StackItem>
              <StackItem>
                {asYaml ? <DocumentYaml maker={maker} /> : <ClusterForm submit={() => void maker.check()} />}
              </StackItem>
              <StackItem>
                <Outcome maker={maker} />
              </StackItem>
              <StackItem>
                <Actions maker={maker} />
              </StackItem>
            </Stack>
          </GridItem>
          <GridItem xl={4}>
            <Panel lines={lines} calls={calls} />
          </GridItem>
        </Grid>
      </PageSection>
    </EditingContext.Provider>
  )
}

function Actions({ maker }: { maker: ReturnType<typeof useMaker> }) {
  const wrong = maker.problems.length > 0
  return (
    <Flex spaceItems={{ default: 'spaceItemsSm' }}>
      <Button
        onClick={() => void maker.create()}
        isLoading={maker.busy === 'create'}
        isDisabled={wrong || maker.busy !== undefined || maker.half !== undefined}
      >
        Create
      </Button>
      <Button
        variant="secondary"
        onClick={() => void maker.check()}
        isLoading={maker.busy === 'check'}
        isDisabled={wrong || maker.busy !== undefined || maker.half !== undefined}
      >
        Check
      </Button>
      <Button variant="link" component={(props) => <Link {...props} to="/clusters" search={(b) => ({ org: b.org })} />}>
        Cancel
      </Button>
    </Flex>
  )
}
