import { Alert, Button, Flex } from '@patternfly/react-core'
import { stringify } from 'yaml'
import { ProblemAlert } from '../../ui/problem'
import { Yaml } from '../../ui/yaml'
import type { Checked, Made, useMaker } from './usemaker'

/** Outcome says what became of a check or of a creation. It takes the focus where no field can. */
export function Outcome({ maker }: { maker: ReturnType<typeof useMaker> }) {
  const { half, error, errors, checked } = maker
  const count = Object.keys(errors).length
  return (
    <div aria-live="polite" id="outcome" tabIndex={-1}>
      {half && !maker.busy && <Half made={half} maker={maker} />}
      {Boolean(error) && (
        <ProblemAlert error={error} title={half ? 'The node pool was not created' : 'It would not be taken as it is'} />
      )}
      {!error && count > 0 && (
        <Alert
          isInline
          component="p"
          variant="danger"
          title={count === 1 ? 'One field is wrong' : `${count} fields are wrong`}
        >
          {Object.entries(errors).map(([pointer, text]) => (
            <p key={pointer} className="kq-wrap">
              <code>{pointer}</code> {text}
            </p>
          ))}
        </Alert>
      )}
      {checked && (
        <>
          <Alert isInline component="p" variant="success" title="The server would take it. Nothing was created.">
            Below is what would be, with all defaults. A node pool is checked without its cluster.
          </Alert>
          <Yaml label="What would be" value={wouldBe(checked)} />
        </>
      )}
    </div>
  )
}

function Half({ made, maker }: { made: Made; maker: ReturnType<typeof useMaker> }) {
  return (
    <Alert
      isInline
      component="p"
      variant="warning"
      title={`The cluster ${made.name} was created, its node pool was not`}
      actionLinks={
        <Flex>
          <Button variant="link" isInline onClick={() => void maker.createPool()} isLoading={maker.busy === 'create'}>
            Create the node pool again
          </Button>
          <Button variant="link" isInline onClick={() => maker.open(made)}>
            Go to the cluster without it
          </Button>
        </Flex>
      }
    >
      Correct the pool below “Nodes” and try again, or go on without it.
    </Alert>
  )
}

function wouldBe({ cluster, pool }: Checked): string {
  return [cluster, pool]
    .filter((one) => one !== undefined)
    .map((one) => stringify({ kind: one.kind, name: one.name, labels: one.labels, spec: one.spec }))
    .join('---\n')
}
