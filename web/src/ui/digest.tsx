import { Button } from '@patternfly/react-core'
import CopyIcon from '@patternfly/react-icons/dist/esm/icons/copy-icon'
import { shortDigest } from '../logic/digests'
import { readable } from '../logic/foreign'
import { useTell } from './toasts'

/** Digest is the begin of the digest of an image, and copies all of it. */
export function Digest({ digest }: { digest?: string }) {
  const tell = useTell()
  if (!digest) return <span title="No kubelet has said yet which content runs.">no digest known</span>
  const copy = () =>
    navigator.clipboard.writeText(digest).then(
      () => tell('The digest is copied'),
      () => tell('The browser does not allow to copy', 'danger'),
    )
  return (
    <span style={{ whiteSpace: 'nowrap' }}>
      <code title={readable(digest)}>{readable(shortDigest(digest), 40)}</code>
      <Button
        variant="plain"
        size="sm"
        hasNoPadding
        icon={<CopyIcon />}
        aria-label={`Copy the digest ${readable(digest)}`}
        onClick={() => void copy()}
      />
    </span>
  )
}
