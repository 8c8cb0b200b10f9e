import { List, ListItem } from '@patternfly/react-core'
import { useMemo, useState } from 'react'
import { api, idempotencyKey, ok } from '../../api/client'
import { proposedName } from '../../logic/backup'
import { type Credential, credentials, dependents, type Rotation } from '../../logic/rotation'
import { Foreign } from '../../ui/foreign'
import { FormDialog } from '../../ui/formdialog'
import { useTell } from '../../ui/toasts'
import { type Of, useAskAgain } from './data'

/** Start says what the rotation of a credential does, and starts it. */
export function Start({ of, credential, close }: { of: Of; credential: Credential; close: () => void }) {
  const about = credentials[credential]
  const [name] = useState(() => proposedName(`${of.cluster}-${about.short}`, [], new Date()))
  const key = useMemo(idempotencyKey, [])
  const tell = useTell()
  const askAgain = useAskAgain()
  const run = async () => {
    await ok(
      api.POST('/api/v1/organizations/{organization}/rotations', {
        params: { path: { organization: of.organization }, header: key },
        body: { name, spec: { clusterName: of.cluster, credential } },
      }),
    )
    tell(`${about.name} of cluster ${of.cluster} is being rotated`)
    askAgain()
  }
  return (
    <FormDialog
      title={`Rotate: ${about.name} of ${of.cluster}`}
      about={about.does}
      act="Start the rotation"
      run={run}
      close={close}
    >
      <List>
        {about.starts.map((text) => (
          <ListItem key={text}>{text}</ListItem>
        ))}
      </List>
      <p>Before you finish it: {about.before}</p>
    </FormDialog>
  )
}

/** Finish takes the old credential out, once the name of the cluster was typed. */
export function Finish({ of, rotation, close }: { of: Of; rotation: Rotation; close: () => void }) {
  const about = credentials[rotation.spec?.credential ?? 'CertificateAuthority']
  const left = dependents(rotation)
  const tell = useTell()
  const askAgain = useAskAgain()
  const run = async () => {
    await ok(
      api.PATCH('/api/v1/organizations/{organization}/rotations/{rotation}', {
        params: {
          path: { organization: of.organization, rotation: rotation.name },
          header: { 'If-Match': '*' },
        },
        body: { spec: { finish: true } } as never,
        headers: { 'Content-Type': 'application/merge-patch+json' },
      }),
    )
    tell(`The old one is taken out of cluster ${of.cluster}`)
    askAgain()
  }
  return (
    <FormDialog
      isDanger
      title={`Finish the rotation of the ${about.name.toLowerCase()}?`}
      act="Take the old one out"
      typed={of.cluster}
      run={run}
      close={close}
    >
      <p>This cannot be undone. What depends on the old one is refused from then on:</p>
      <List>
        {about.finishes.map((text) => (
          <ListItem key={text}>{text}</ListItem>
        ))}
      </List>
      {left.length > 0 && (
        <>
          <p>What still depends on it, as far as KQueen knows:</p>
          <List>
            {left.map((text) => (
              <ListItem key={text}>
                <Foreign text={text} detail />
              </ListItem>
            ))}
          </List>
        </>
      )}
      <p>KQueen does not know of kubeconfigs and tokens that lie elsewhere.</p>
    </FormDialog>
  )
}
