import { FormSection, Grid, GridItem, Switch } from '@patternfly/react-core'
import { useOrganization } from '../../app/catalogue'
import { organizationOf, withPool, write } from '../../logic/clusterdocument'
import { ChoiceField, idOf, TextField } from '../../ui/field'
import { useEditing } from './draft'

/** PoolFields are whether there is a node pool, and how it is. */
export function PoolFields() {
  const { draft, setDraft, at } = useEditing()
  const providers = useOrganization(organizationOf(draft))?.spec?.machineProviders ?? ['manual']
  const provider = at('pool', 'spec', 'template', 'provider')
  const replicas = at('pool', 'spec', 'replicas')
  const choices = [
    { value: 'local', text: "local: on KQueen's host" },
    { value: 'manual', text: 'manual: machines of your own' },
  ].map((one) => {
    const may = providers.includes(one.value as 'local')
    return { ...one, isDisabled: !may, text: may ? one.text : `${one.text} (not for this organization)` }
  })
  return (
    <FormSection title="Nodes" titleElement="h2">
      <Switch
        id={idOf('/pool')}
        label="Create a node pool"
        isChecked={draft.pool !== undefined}
        onChange={(_, wanted) =>
          setDraft(withPool(draft, wanted, providers.includes('local') ? undefined : providers[0]))
        }
      />
      {draft.pool && (
        <Grid hasGutter md={6}>
          <TextField {...at('pool', 'metadata', 'name')} label="Name of the pool" required />
          <TextField
            {...replicas}
            label="Number of nodes"
            numeric
            onChange={(said) =>
              setDraft(write(draft, ['pool', 'spec', 'replicas'], /^[0-9]+$/.test(said) ? Number(said) : said))
            }
            help="From 0 to 1000. It can be changed at any time."
          />
          <ChoiceField
            {...provider}
            value={provider.value || 'local'}
            label="Machines"
            choices={choices}
            onChange={(to) => {
              const told = write(draft, ['pool', 'spec', 'template', 'provider'], to)
              setDraft(to === 'manual' ? write(told, ['pool', 'spec', 'template', 'resources'], undefined) : told)
            }}
            help={
              provider.value === 'manual'
                ? 'You join each machine with a command that the page of the cluster gives you.'
                : 'KQueen creates them.'
            }
          />
          {provider.value !== 'manual' && (
            <GridItem>
              <Grid hasGutter sm={6}>
                {(['cpu', 'memory'] as const).map((key) => (
                  <TextField
                    key={key}
                    {...at('pool', 'spec', 'template', 'resources', key)}
                    label={key === 'cpu' ? 'CPU of each node' : 'Memory of each node'}
                    placeholder={key === 'cpu' ? '2' : '4Gi'}
                    help="Empty: all that the host has."
                  />
                ))}
              </Grid>
            </GridItem>
          )}
        </Grid>
      )}
    </FormSection>
  )
}
