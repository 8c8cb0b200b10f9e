import {
  Button,
  Form,
  List,
  ListItem,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
  ModalVariant,
} from '@patternfly/react-core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { api, ok } from '../../api/client'
import type { Cluster } from '../../api/objects'
import { isAdopted } from '../../logic/cluster'
import { count } from '../../logic/quantity'
import { TextField } from '../../ui/field'

interface DeletionProps {
  clusters: Cluster[]
  /** Is told the UIDs of the clusters that are being deleted. */
  close: (gone: string[]) => void
}

type Progress = Record<string, { text: string; failed?: boolean }>

/** Deletion asks before clusters are deleted, deletes one after another, and says what failed. */
export function Deletion({ clusters, close }: DeletionProps) {
  const client = useQueryClient()
  const [typed, setTyped] = useState('')
  const [progress, setProgress] = useState<Progress>({})
  const [state, setState] = useState<'asks' | 'deletes' | 'done'>('asks')
  const gone = clusters.filter((one) => progress[one.uid] && !progress[one.uid]?.failed).map((one) => one.uid)
  const left = clusters.filter((one) => !gone.includes(one.uid))
  const word = clusters.length === 1 ? (clusters[0]?.name ?? '') : String(clusters.length)

  const run = async () => {
    setState('deletes')
    for (const one of left) {
      const say = (text: string, failed?: boolean) => setProgress((now) => ({ ...now, [one.uid]: { text, failed } }))
      try {
        await remove(one)
        say('is being deleted')
      } catch (e) {
        say(e instanceof Error ? e.message : String(e), true)
      }
    }
    setState('done')
    void client.invalidateQueries({ queryKey: ['clusters'] })
  }

  return (
    <Modal
      variant={ModalVariant.medium}
      isOpen
      onClose={state === 'deletes' ? undefined : () => close(gone)}
      aria-labelledby="deletion-title"
    >
      <ModalHeader
        title={`Delete ${count(clusters.length, 'cluster')}?`}
        labelId="deletion-title"
        titleIconVariant="warning"
      />
      <ModalBody>
        <Lost clusters={clusters} />
        <div aria-live="polite">
          <List className="kq-wrap">
            {clusters.map((one) => (
              <ListItem key={one.uid}>
                <strong>
                  {one.organization}/{one.name}
                </strong>
                {isAdopted(one) ? ' (imported)' : ''}
                {progress[one.uid] && `: ${progress[one.uid]?.failed ? 'not deleted: ' : ''}${progress[one.uid]?.text}`}
              </ListItem>
            ))}
          </List>
        </div>
        {state === 'asks' && (
          <Form onSubmit={(event) => event.preventDefault()}>
            <TextField
              label={clusters.length === 1 ? `Type ${word} to go on` : `Type ${word}, how many they are, to go on`}
              value={typed}
              onChange={setTyped}
            />
          </Form>
        )}
      </ModalBody>
      <ModalFooter>
        {left.length > 0 && (
          <Button
            variant="danger"
            isDisabled={state === 'deletes' || typed !== word}
            isLoading={state === 'deletes'}
            onClick={() => void run()}
          >
            {state === 'done' ? 'Try the others again' : 'Delete'}
          </Button>
        )}
        <Button variant="link" isDisabled={state === 'deletes'} onClick={() => close(gone)}>
          {state === 'done' ? 'Close' : 'Cancel'}
        </Button>
      </ModalFooter>
    </Modal>
  )
}

function Lost({ clusters }: { clusters: Cluster[] }) {
  const adopted = clusters.filter(isAdopted).length
  return (
    <>
      {adopted < clusters.length && (
        <p>
          The clusters that KQueen created are lost with all that is in them: workloads, volumes, node pools and nodes.
          They do not come back.
        </p>
      )}
      {adopted > 0 && (
        <p>
          Imported clusters go on running as they are: KQueen forgets them, and the credentials by which it reached
          them.
        </p>
      )}
    </>
  )
}

/** remove deletes a cluster, unless it has been replaced by another one of its name meanwhile. */
async function remove(one: Cluster): Promise<void> {
  const path = { organization: one.organization ?? '', cluster: one.name }
  const now = await ok(api.GET('/api/v1/organizations/{organization}/clusters/{cluster}', { params: { path } }))
  if (now.uid !== one.uid) throw new Error('it was deleted, and another one has its name now')
  await ok(
    api.DELETE('/api/v1/organizations/{organization}/clusters/{cluster}', {
      params: { path, header: { 'If-Match': '*' } },
    }),
  )
}
