import { useUrlState } from '../../app/urlstate'
import { List } from './list'
import { One } from './one'

/** The list of provisioners, or the one that the URL names: `name`, and `of` with its organization where it is not shared. */
export default function Page() {
  const [{ name, of }] = useUrlState()
  return name ? <One name={name} organization={of} /> : <List />
}
