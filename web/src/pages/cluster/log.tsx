import { Checkbox, Flex, TextInput } from '@patternfly/react-core'
import { useEffect, useRef, useState } from 'react'
import { type ContainerAddress, followLog, mostLines } from '../../api/incluster'
import { readable } from '../../logic/foreign'
import { appendLines, printable } from '../../logic/loglines'
import { ProblemAlert } from '../../ui/problem'

/** Log follows the log of a container. Control characters of it are not shown: a container writes what it likes. */
export default function Log({ of }: { of: ContainerAddress }) {
  const [previous, setPrevious] = useState(false)
  const [wanted, setWanted] = useState('')
  const { lines, error, ended } = useLog(of, previous)
  const end = useRef<HTMLPreElement>(null)
  const shown = wanted ? lines.filter((line) => line.includes(wanted)) : lines
  useEffect(() => {
    const box = end.current
    // Who has scrolled back reads on undisturbed.
    if (box && shown.length > 0 && box.scrollHeight - box.scrollTop - box.clientHeight < 200)
      box.scrollTop = box.scrollHeight
  }, [shown.length])
  return (
    <>
      <Flex className="kq-log-tools">
        <TextInput
          aria-label="Show lines with"
          placeholder="Show lines with"
          value={wanted}
          onChange={(_, value) => setWanted(value)}
        />
        <Checkbox
          id="log-previous"
          label="Of the container before its last restart"
          isChecked={previous}
          onChange={(_, is) => setPrevious(is)}
        />
        <span className="kq-quiet">{ended ? 'It has ended.' : 'Following'}</span>
      </Flex>
      <ProblemAlert error={error} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls by the keyboard */}
      <pre className="kq-log" ref={end} tabIndex={0} role="log" aria-label={`Log of ${readable(of.pod)}`}>
        {shown.join('\n')}
      </pre>
      {lines.length >= mostLines && (
        <p className="kq-quiet kq-small">
          The last {mostLines.toLocaleString('en')} lines. Earlier ones: kubectl logs.
        </p>
      )}
    </>
  )
}

function useLog(of: ContainerAddress, previous: boolean) {
  const [lines, setLines] = useState<string[]>([])
  const [error, setError] = useState<unknown>()
  const [ended, setEnded] = useState(false)
  useEffect(() => {
    const abort = new AbortController()
    let kept: string[] = ['']
    let drawing: ReturnType<typeof setTimeout> | undefined
    setLines([])
    setError(undefined)
    setEnded(false)
    const draw = () => {
      drawing = undefined
      setLines(kept.at(-1) === '' ? kept.slice(0, -1) : kept)
    }
    followLog(of, previous, abort.signal, (text) => {
      kept = appendLines(kept, printable(text), mostLines)
      drawing ??= setTimeout(draw, 100)
    })
      .then(() => setEnded(true))
      .catch((e: unknown) => {
        if (!abort.signal.aborted) setError(e)
      })
    return () => {
      abort.abort()
      clearTimeout(drawing)
    }
  }, [of, previous])
  return { lines, error, ended }
}
