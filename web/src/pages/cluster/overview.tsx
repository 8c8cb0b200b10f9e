import { Card, CardBody, CardTitle, Grid, GridItem, Stack } from '@patternfly/react-core'
import { isAdopted } from '../../logic/cluster'
import { Capacity } from './capacity'
import { Facts } from './facts'
import { Findings } from './findings'
import { Parts } from './health'
import type { TabProps } from './index'
import { InProgress } from './progress'
import { Times } from './times'

/** Overview says how the cluster is, what goes on, and what it has. */
export function Overview({ of, cluster }: TabProps) {
  return (
    <Stack hasGutter>
      <InProgress of={of} cluster={cluster} />
      <Grid hasGutter lg={6}>
        <GridItem>
          <Card isFullHeight>
            <CardTitle component="h2">Health</CardTitle>
            <CardBody>
              <Parts cluster={cluster} />
            </CardBody>
          </Card>
        </GridItem>
        <GridItem>
          <Card isFullHeight>
            <CardTitle component="h2">Details</CardTitle>
            <CardBody>
              <Facts cluster={cluster} />
            </CardBody>
          </Card>
        </GridItem>
      </Grid>
      {!isAdopted(cluster) && <Times of={of} cluster={cluster} />}
      <Capacity of={of} cluster={cluster} />
      <Findings of={of} />
    </Stack>
  )
}
