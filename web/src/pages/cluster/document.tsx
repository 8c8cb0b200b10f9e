import { Alert, AlertActionLink, Button, ExpandableSection, Flex, Stack, Title } from '@patternfly/react-core'
import { useState } from 'react'
import { useMe } from '../../app/queries'
import { equal } from '../../logic/diff'
import { documentOf, editableOf, textOf } from '../../logic/document'
import { readableIn } from '../../logic/foreign'
import { may } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { ProblemAlert } from '../../ui/problem'
import { useTell } from '../../ui/toasts'
import { Yaml } from '../../ui/yaml'
import { Conflict } from './conflict'
import { type Of, useAskAgain, useCluster } from './data'
import type { TabProps } from './index'
import { type Seen, write } from './write'

/** Document is the cluster as YAML; labels, annotations and spec can be edited. */
export default function Document({ of, cluster }: TabProps) {
  const etag = useCluster(of).data?.etag ?? ''
  const now: Seen = { document: editableOf(cluster), etag }
  const edit = useEdit(of, now)
  const permission = may(useMe(), of.organization, 'operator')
  const whileThere =
    permission.allowed && cluster.deletionRequestedAt
      ? { allowed: false, why: 'The cluster is being deleted.' }
      : permission
  const changed = edit.isEdited && !equal(edit.base.document, now.document)
  const idle = edit.busy !== undefined || !edit.isEdited || edit.fault !== undefined
  return (
    <Stack hasGutter>
      <Flex justifyContent={{ default: 'justifyContentSpaceBetween' }}>
        <Title headingLevel="h2">YAML</Title>
        <Cli of={of} />
      </Flex>
      {changed && !edit.theirs && (
        <Alert
          component="p"
          isInline
          variant="warning"
          title="Another user or program has changed the cluster since you began"
          actionLinks={<AlertActionLink onClick={() => edit.compare(now)}>Show the differences</AlertActionLink>}
        >
          What you have typed stays.
        </Alert>
      )}
      {edit.theirs && (
        <Conflict
          base={edit.base.document}
          yours={edit.document ?? {}}
          theirs={edit.theirs}
          take={edit.take}
          overwrite={() => void edit.save(false, edit.theirs)}
          close={() => edit.compare(undefined)}
        />
      )}
      <Yaml
        value={edit.text}
        onChange={whileThere.allowed ? edit.type : undefined}
        label={`Labels, annotations and spec of the cluster ${of.cluster}`}
      />
      <div aria-live="polite">
        {edit.fault && <Alert component="p" isInline variant="danger" title={edit.fault} className="kq-wrap" />}
        <ProblemAlert error={edit.error} />
        {edit.says && <Alert component="p" isInline variant="info" title={edit.says} />}
      </div>
      <Flex spaceItems={{ default: 'spaceItemsSm' }}>
        <Guarded
          permission={whileThere}
          isDisabled={idle}
          isLoading={edit.busy === 'save'}
          onClick={() => void edit.save(false)}
        >
          Save
        </Guarded>
        <Guarded
          permission={whileThere}
          variant="secondary"
          isDisabled={idle}
          isLoading={edit.busy === 'check'}
          onClick={() => void edit.save(true)}
        >
          Check only
        </Guarded>
        <Button variant="link" isDisabled={!edit.isEdited} onClick={() => edit.take(now.document, now)}>
          Discard your changes
        </Button>
      </Flex>
      <ExpandableSection toggleText="The whole object, with its status (read only)">
        <Yaml value={textOf(readableIn(cluster))} label={`The whole cluster ${of.cluster}`} />
      </ExpandableSection>
    </Stack>
  )
}

/** useEdit keeps what the user types, and what it comes from, whatever happens to the cluster meanwhile. */
function useEdit(of: Of, now: Seen) {
  const [base, setBase] = useState(now)
  const [text, setText] = useState(() => textOf(now.document))
  const [theirs, setTheirs] = useState<Seen>()
  const [busy, setBusy] = useState<'save' | 'check'>()
  const [error, setError] = useState<unknown>()
  const [says, setSays] = useState<string>()
  const tell = useTell()
  const askAgain = useAskAgain()
  const { document, fault } = documentOf(text)
  const isEdited = fault !== undefined || !equal(document, base.document)
  const take = (taken: Seen['document'], from: Seen) => {
    setBase(from)
    setText(textOf(taken))
    setTheirs(undefined)
    setError(undefined)
    setSays(undefined)
  }
  if (!isEdited && !equal(base.document, now.document)) take(now.document, now)
  const save = async (dryRun: boolean, over?: Seen) => {
    if (!document) return
    setBusy(dryRun ? 'check' : 'save')
    setError(undefined)
    setSays(undefined)
    try {
      const result = await write(of, document, over ?? { ...base, etag: base.etag || now.etag }, dryRun)
      if (result.theirs) setTheirs(result.theirs)
      else if (dryRun) setSays('The server would take this (dry run).')
      else {
        take(result.saved.document, result.saved)
        tell(`Cluster ${of.cluster} is changed`)
        askAgain()
      }
    } catch (e) {
      setError(e)
    }
    setBusy(undefined)
  }
  const type = (typed: string) => {
    setText(typed)
    setSays(undefined)
  }
  return { base, text, type, document, fault, isEdited, theirs, compare: setTheirs, take, save, busy, error, says }
}

function Cli({ of }: { of: Of }) {
  const file = shellWord(`${of.cluster}.yaml`)
  const flags = `${shellWord(of.cluster)} --org ${shellWord(of.organization)}`
  const path = `/api/v1/organizations/${of.organization}/clusters/${of.cluster}`
  return (
    <FromCli
      lines={[
        { about: 'Get it', command: `kqueen cluster get ${flags} -o yaml > ${file}` },
        { about: 'What the file would change', command: `kqueen diff -f ${file}` },
        {
          about: 'Change it as the file says, unless it has changed since',
          command: `kqueen cluster update -f ${file}`,
        },
        { about: 'Or change one thing', command: `kqueen cluster update ${flags} --label team=blue` },
      ]}
      calls={[{ method: 'GET', path }]}
    />
  )
}
