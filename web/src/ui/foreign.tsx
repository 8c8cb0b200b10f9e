import { type CSSProperties, Fragment, type ReactNode } from 'react'
import { mostInDetail, mostInList, readable, wordOf } from '../logic/foreign'

interface ForeignProps {
  text?: string
  /** What is shown where there is none. */
  none?: ReactNode
  /** It is what one came for: more of it is shown. */
  detail?: boolean
}

/**
 * Foreign shows a text that a managed cluster or another system has given: cut, with what is unseen made visible, and apart from the
 * direction of the text around it. In tables it keeps words in one piece.
 */
export function Foreign({ text, none, detail }: ForeignProps) {
  if (!text) return none
  const shown = readable(text, detail ? mostInDetail : mostInList)
  return (
    <bdi className="kq-foreign" style={{ '--kq-word': `${wordOf(shown)}ch` } as CSSProperties}>
      {broken(shown)}
    </bdi>
  )
}

/** Lines can break after a slash, which browsers do not do by themselves. */
function broken(text: string): ReactNode {
  const parts = text.split('/')
  if (parts.length === 1) return text
  return parts.map((part, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: they do not move
    <Fragment key={i}>
      {i > 0 && (
        <>
          /<wbr />
        </>
      )}
      {part}
    </Fragment>
  ))
}

/** foreign is what a cell or a tip shows: a plain text as Foreign, anything else as it is. */
export function foreign(shown: ReactNode, detail?: boolean): ReactNode {
  return typeof shown === 'string' ? <Foreign text={shown} detail={detail} /> : shown
}
