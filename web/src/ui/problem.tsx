import { Alert, AlertActionLink, List, ListItem } from '@patternfly/react-core'
import { ApiError } from '../api/client'
import { mostInDetail, readable } from '../logic/foreign'
import { Foreign } from './foreign'

/** ProblemAlert says what went wrong, in the words of the server, and where. */
export function ProblemAlert({ error, title, again }: { error: unknown; title?: string; again?: () => void }) {
  if (!error) return null
  const problem = error instanceof ApiError ? error.problem : undefined
  const text = readable(error instanceof Error ? error.message : String(error), mostInDetail)
  const fields = problem?.errors ?? []
  return (
    <Alert
      isInline
      component="p"
      variant="danger"
      title={title ?? text}
      actionLinks={again && <AlertActionLink onClick={again}>Try again</AlertActionLink>}
      className="kq-wrap"
    >
      {title && <p>{text}</p>}
      {fields.length > 0 && (
        <List>
          {fields.map((field) => (
            <ListItem key={field.pointer + field.detail}>
              {field.pointer && <code>{readable(field.pointer)}</code>} <Foreign text={field.detail} detail />
            </ListItem>
          ))}
        </List>
      )}
      {problem && problem.status >= 500 && problem.requestId && (
        <p className="kq-small">Request {problem.requestId}: an administrator finds it in the server's log.</p>
      )}
    </Alert>
  )
}
