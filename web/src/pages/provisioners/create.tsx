import { FormGroup } from '@patternfly/react-core'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { Provisioner } from '../../api/objects'
import { useMe } from '../../app/queries'
import { driversOf, templateOf } from '../../logic/drivers'
import { mayAdminister, organizationsFor } from '../../logic/roles'
import { shellWord } from '../../logic/shell'
import { fromYaml } from '../../logic/yamlspec'
import { ChoiceField, TextField } from '../../ui/field'
import { FormDialog } from '../../ui/formdialog'
import { Copied } from '../../ui/fromcli'
import { useTell } from '../../ui/toasts'
import { Yaml } from '../../ui/yaml'
import { createProvisioner } from './requests'
import { Schema } from './schema'

interface Props {
  /** The one that is chosen for the page. */
  organization?: string
  /** Provisioners that show which drivers there are. */
  known: Provisioner[]
  close: () => void
}

const other = ''

/** CreateProvisioner asks an owner for a provisioner of an organization. */
export function CreateProvisioner({ organization, known, close }: Props) {
  const me = useMe()
  const client = useQueryClient()
  const tell = useTell()
  const mine = organization ? [organization] : organizationsFor(me, 'owner')
  const drivers = driversOf(known)
  const [org, setOrg] = useState(mine[0] ?? '')
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState(drivers[0]?.name ?? other)
  const [written, setWritten] = useState('')
  const driver = drivers.find((d) => d.name === chosen)
  const [typed, setTyped] = useState<string>()
  const text = typed ?? templateOf(driver?.parametersSchema)
  const parsed = fromYaml<Record<string, unknown>>(text)
  const driverName = driver?.name ?? written.trim()
  const choose = (to: string) => {
    setChosen(to)
    setTyped(undefined)
  }
  const run = async () => {
    const parameters = parsed.value
    const hasAny = parameters && Object.keys(parameters).length > 0
    await createProvisioner(
      org,
      { name: name.trim(), spec: { driver: driverName, ...(hasAny && { parameters }) } },
      false,
    )
    tell(`The provisioner ${name} was created. Its health says whether the driver takes it.`)
    await client.invalidateQueries({ queryKey: ['provisioners'] })
  }
  const settings =
    parsed.value && Object.keys(parsed.value).length > 0
      ? ` --parameters ${shellWord(JSON.stringify(parsed.value))}`
      : ''
  return (
    <FormDialog
      isLarge
      title="Create provisioner"
      about="Whether the driver takes the parameters is shown as its health. Credentials are set afterwards."
      act="Create provisioner"
      isIncomplete={!org.trim() || !name.trim() || !driverName || !parsed.value}
      run={run}
      close={close}
    >
      {organization || !mayAdminister(me).allowed ? (
        <ChoiceField
          label="Organization"
          value={org}
          onChange={setOrg}
          choices={mine.map((o) => ({ value: o, text: o }))}
          help="Only this organization can use it. Shared ones are created by administrators with kubectl."
          required
        />
      ) : (
        <TextField
          label="Organization"
          value={org}
          onChange={setOrg}
          required
          maxLength={40}
          help="As an administrator you may name any. Only this organization can use it; shared ones are created with kubectl."
        />
      )}
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        required
        maxLength={63}
        help="Lower-case letters, digits and -."
      />
      <ChoiceField
        label="Driver"
        value={chosen}
        onChange={choose}
        choices={[
          ...drivers.map((d) => ({ value: d.name, text: d.name })),
          { value: other, text: 'Another one, by name' },
        ]}
        help={
          driver?.summary ??
          'A driver that no provisioner uses yet. When there is none of that name, the health says which there are.'
        }
        required
      />
      {!driver && (
        <TextField label="Name of the driver" value={written} onChange={setWritten} required maxLength={63} />
      )}
      {driver && <Schema schema={driver.parametersSchema} />}
      <FormGroup label="Parameters, as YAML" role="group" fieldId="parameters">
        <Yaml label="Parameters as YAML" value={text} onChange={setTyped} />
        {parsed.error && <p role="alert">{parsed.error}</p>}
      </FormGroup>
      <div>
        <p className="kq-small kq-quiet">The same from the command line:</p>
        <div className="kq-scroll">
          <Copied
            text={`kqueen provisioner create ${shellWord(name || 'NAME')} --driver ${shellWord(driverName || 'DRIVER')}${settings} --org ${shellWord(org)}`}
          />
        </div>
      </div>
    </FormDialog>
  )
}
