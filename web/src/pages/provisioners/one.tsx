import { PageSection, Skeleton } from '@patternfly/react-core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../../api/client'
import { useLive } from '../../api/live'
import type { Provisioner } from '../../api/objects'
import { useMe } from '../../app/queries'
import { useUrlState } from '../../app/urlstate'
import { mayChange, ownerOf } from '../../logic/drivers'
import { may, type Permission } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { Conditions } from '../../ui/conditions'
import { FromCli } from '../../ui/fromcli'
import { Guarded } from '../../ui/guarded'
import { HealthLabel } from '../../ui/health'
import { PageHead } from '../../ui/page'
import { Part } from '../../ui/part'
import { ProblemAlert } from '../../ui/problem'
import { SpecEditor } from '../../ui/speceditor'
import { Credentials } from './credentials'
import { DeleteProvisioner } from './delete'
import { type Path, readProvisioner, replaceProvisioner } from './requests'
import { Schema } from './schema'

/** One shows a provisioner. A shared one is read by way of any organization of the user: the API has no other. */
export function One({ name, organization }: { name: string; organization?: string }) {
  const me = useMe()
  const [{ org }, set] = useUrlState()
  const [going, setGoing] = useState(false)
  const live = useLive('/api/v1/provisioners', [['provisioners']])
  const through = organization ?? org ?? Object.keys(me.roles).sort()[0] ?? 'default'
  const path = { organization: through, provisioner: name }
  const one = useQuery({
    queryKey: ['provisioners', 'one', through, name],
    queryFn: () => readProvisioner(path),
  })
  const object = one.data?.object
  const permission = mayChange(object ?? { organization }, may(me, organization, 'owner'))
  const at = `/api/v1/organizations/${encodeURIComponent(through)}/provisioners/${encodeURIComponent(name)}`
  return (
    <>
      <PageHead
        title={name}
        about={
          object && `${object.status?.driver?.summary ?? `Driver ${object.spec?.driver}.`} Owner: ${ownerOf(object)}.`
        }
        above={[{ to: '/provisioners', name: 'Provisioners' }]}
        mark={object && <HealthLabel of={object} />}
        live={live}
        actions={
          <>
            <FromCli
              lines={[
                {
                  about: 'Show it',
                  command: `kqueen provisioner describe ${shellWord(name)} --org ${shellWord(through)}`,
                },
                {
                  about: 'Change its parameters',
                  command: `kqueen provisioner update ${shellWord(name)} --spec '{"parameters":{}}' --org ${shellWord(through)}`,
                },
                {
                  about: 'Set its credentials, from a file of keys and values',
                  command: `kqueen provisioner credentials set ${shellWord(name)} --org ${shellWord(through)} <credentials.yaml`,
                },
                {
                  about: 'Wait until its driver takes it',
                  command: `kqueen provisioner wait ${shellWord(name)} --for=condition=DriverReady --org ${shellWord(through)}`,
                },
                {
                  about: 'Delete it',
                  command: `kqueen provisioner delete ${shellWord(name)} --org ${shellWord(through)}`,
                },
              ]}
              calls={[
                { method: 'GET', path: at },
                { method: 'GET', path: `${at}/credentials` },
                { method: 'PUT', path: `${at}/credentials`, body: { token: '…' } },
              ]}
            />
            <Guarded
              permission={permission}
              variant="secondary"
              isDanger
              isDisabled={!object}
              onClick={() => setGoing(true)}
            >
              Delete
            </Guarded>
          </>
        }
      />
      <PageSection>
        <ProblemAlert error={one.error} again={() => void one.refetch()} />
        {one.isPending && <Skeleton height="16rem" screenreaderText="Loading the provisioner" />}
        {one.data && <Body object={one.data.object} etag={one.data.etag} path={path} permission={permission} />}
      </PageSection>
      {going && object && (
        <DeleteProvisioner
          provisioner={object}
          close={() => setGoing(false)}
          done={() => set({ name: undefined, of: undefined })}
        />
      )}
    </>
  )
}

interface BodyProps {
  object: Provisioner
  etag: string
  path: Path
  permission: Permission
}

function Body({ object, etag, path, permission }: BodyProps) {
  const client = useQueryClient()
  const driver = object.status?.driver
  return (
    <>
      <Part
        title="Health"
        about="Ready says that the driver takes the parameters and has the credentials that it needs."
      >
        <Conditions of={object} />
      </Part>
      <br />
      {object.organization ? (
        <Credentials provisioner={object} path={path} permission={permission} />
      ) : (
        <Part title="Credentials">
          <p className="kq-quiet">
            {driver?.credentials?.length
              ? 'Those of shared provisioners are set on the machine of the installation.'
              : 'The driver takes no credentials.'}
          </p>
        </Part>
      )}
      <br />
      <Part title="Settings" about="The driver cannot be changed. A change of parameters can restart control planes.">
        <SpecEditor
          label={`Provisioner ${object.name} as YAML`}
          object={object}
          etag={etag}
          permission={permission}
          save={async (doc, tag, dryRun) => {
            await replaceProvisioner(path, doc as Schemas['ProvisionerChange'], tag, dryRun)
            if (!dryRun) await client.invalidateQueries({ queryKey: ['provisioners'] })
          }}
        />
      </Part>
      <br />
      <Part
        title={`What the driver ${object.spec?.driver} takes`}
        about={driver?.features?.length ? `It can also: ${driver.features.join(', ')}.` : undefined}
      >
        {driver ? <Schema schema={driver.parametersSchema} /> : <p>It is not known to this installation.</p>}
      </Part>
    </>
  )
}
