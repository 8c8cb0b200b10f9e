import { Card, CardBody, CardTitle, Stack, StackItem } from '@patternfly/react-core'
import { type Call, Copied, curl, type Line } from '../../ui/fromcli'

/** Panel shows beside the form what does the same. */
export function Panel({ lines, calls }: { lines: Line[]; calls: Call[] }) {
  return (
    <Stack hasGutter>
      <Card isCompact>
        <CardTitle component="h2">The same by the command line</CardTitle>
        <CardBody>
          {lines.map((line) => (
            // A command of several lines is shown unfolded, which the key makes sure of.
            <Copied key={String(line.command.includes('\n'))} text={line.command} />
          ))}
        </CardBody>
      </Card>
      <Card isCompact>
        <CardTitle component="h2">The same by the REST API</CardTitle>
        <CardBody>
          <Stack hasGutter>
            {calls.map((call) => (
              <StackItem key={call.path}>
                <Copied text={curl(call)} />
              </StackItem>
            ))}
          </Stack>
        </CardBody>
      </Card>
    </Stack>
  )
}
