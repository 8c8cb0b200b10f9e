import { FormFieldGroup, FormFieldGroupHeader, Grid, GridItem } from '@patternfly/react-core'
import { type QuotaForm, type QuotaKey, quotaErrors, quotaKeys } from '../../logic/quota'
import { TextField } from '../../ui/field'

const labels: Record<QuotaKey, [string, string]> = {
  clusters: ['Clusters', 'How many clusters there may be.'],
  nodes: ['Nodes', 'A pool counts with the most that it may have.'],
  local: ['Machines on the host of KQueen', 'Those of the machine provider local.'],
  manual: ['Machines that users join', 'Those of the machine provider manual.'],
  cpu: ['Processors of nodes', 'Such as 16, or 1500m for one and a half.'],
  memory: ['Memory of nodes', 'Such as 64Gi.'],
  store: ['Data in data stores', 'What hosted control planes may hold, such as 8Gi.'],
}

/** QuotaFields asks for the limits of an organization. */
export function QuotaFields({ form, set }: { form: QuotaForm; set: (form: QuotaForm) => void }) {
  const errors = quotaErrors(form)
  return (
    <FormFieldGroup
      header={
        <FormFieldGroupHeader
          titleText={{ text: 'Limits', id: 'quota-fields' }}
          titleDescription="An empty field is no limit. Nothing that is there ends when a limit is lowered; nothing more is let through."
        />
      }
    >
      <Grid hasGutter md={6}>
        {quotaKeys.map((key) => (
          <GridItem key={key}>
            <TextField
              label={labels[key][0]}
              help={labels[key][1]}
              value={form[key]}
              onChange={(value) => set({ ...form, [key]: value })}
              error={errors[key]}
              maxLength={30}
            />
          </GridItem>
        ))}
      </Grid>
    </FormFieldGroup>
  )
}
