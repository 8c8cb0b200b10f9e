import { lifetimeName, lifetimes } from '../../logic/expiry'
import { exact } from '../../logic/time'
import { ChoiceField } from './fields'

/** LifetimeField chooses for how many days a token is valid. */
export function LifetimeField({ days, set }: { days: number; set: (days: number) => void }) {
  const end = new Date(Date.now() + days * 24 * 3600 * 1000)
  return (
    <ChoiceField
      label="Expires after"
      value={String(days)}
      set={(value) => set(Number(value))}
      options={lifetimes.map((n) => ({ value: String(n), label: lifetimeName(n) }))}
      help={`On ${exact(end)}. A short life bounds what a thief gets.`}
      required
    />
  )
}
