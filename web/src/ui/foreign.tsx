import type { CSSProperties, ReactNode } from 'react'
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
      {shown}
    </bdi>
  )
}

/** foreign is what a cell or a tip shows: a plain text as Foreign, anything else as it is. */
export function foreign(shown: ReactNode, detail?: boolean): ReactNode {
  return typeof shown === 'string' ? <Foreign text={shown} detail={detail} /> : shown
}
