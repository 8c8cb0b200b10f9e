import { PageHead } from '../../ui/page'

export default function Page() {
  return <PageHead title="profile" />
}
