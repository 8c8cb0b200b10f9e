import { Alert, List, ListItem } from '@patternfly/react-core'
import { lineOf } from '../../logic/clusteryaml'
import { Yaml } from '../../ui/yaml'
import type { useMaker } from './usemaker'

/** DocumentYaml edits the document as YAML, and says what is wrong by line. */
export function DocumentYaml({ maker }: { maker: ReturnType<typeof useMaker> }) {
  const said = Object.entries(maker.errors).map(([pointer, text]) => ({ line: lineOf(maker.yaml, pointer), text }))
  const all = [...maker.problems, ...said].sort((a, b) => a.line - b.line)
  return (
    <>
      <Yaml label="Cluster and node pool, as YAML" value={maker.yaml} onChange={maker.setYaml} />
      <div aria-live="polite">
        {all.length > 0 && (
          <Alert isInline component="p" variant="danger" title="Correct these lines">
            <List isPlain>
              {all.map((problem) => (
                <ListItem key={`${problem.line} ${problem.text}`} className="kq-wrap">
                  Line {problem.line}: {problem.text}
                </ListItem>
              ))}
            </List>
            {maker.problems.length > 0 && <p>The form comes back when the YAML can be read.</p>}
          </Alert>
        )}
      </div>
      <p className="kq-quiet kq-small">
        A Cluster and, if you like, one NodePool after a line of three dashes. This file is also what kqueen apply -f
        takes.
      </p>
    </>
  )
}
