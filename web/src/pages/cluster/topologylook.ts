import type { LabelProps } from '@patternfly/react-core'
import type { Look, Relation } from '../../logic/topology'

export const labelStatus: Record<Look, LabelProps['status']> = {
  good: 'success',
  working: 'info',
  bad: 'danger',
  plain: undefined,
}

/** What an object has to do with another one, as a verb. */
export const words: Record<Relation['type'], string> = {
  Owns: 'owns',
  Selects: 'selects',
  RoutesTo: 'routes to',
  Scales: 'scales',
  RunsOn: 'runs on',
  Uses: 'uses',
  BoundTo: 'is bound to',
}
