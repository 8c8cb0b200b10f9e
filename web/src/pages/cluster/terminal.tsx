import { Foreign } from '../../ui/foreign'
import '@xterm/xterm/css/xterm.css'
import { Alert } from '@patternfly/react-core'
import { FitAddon } from '@xterm/addon-fit'
import { Terminal as Xterm } from '@xterm/xterm'
import { useEffect, useRef, useState } from 'react'
import { type ContainerAddress, openShell, type Shell } from '../../api/incluster'
import { ProblemAlert } from '../../ui/problem'

/** Terminal is a shell in a container. It ends with the page. */
export default function Terminal({ of }: { of: ContainerAddress }) {
  const at = useRef<HTMLDivElement>(null)
  const [error, setError] = useState<unknown>()
  const [ended, setEnded] = useState<string>()
  useEffect(() => {
    const place = at.current
    if (!place) return
    const screen = new Xterm({
      cursorBlink: true,
      fontSize: 13,
      scrollback: 5000,
      screenReaderMode: true,
      theme: { background: '#151515' },
    })
    const fit = new FitAddon()
    screen.loadAddon(fit)
    screen.open(place)
    fit.fit()
    let shell: Shell | undefined
    let left = false
    const resized = new ResizeObserver(() => fit.fit())
    resized.observe(place)
    openShell(of, ['/bin/sh'], { output: (data) => screen.write(data), ended: (why) => !left && setEnded(why) })
      .then((opened) => {
        if (left) return opened.end()
        shell = opened
        screen.onData(opened.type)
        screen.onResize(({ cols, rows }) => opened.resize(cols, rows))
        opened.resize(screen.cols, screen.rows)
        screen.focus()
      })
      .catch((e: unknown) => !left && setError(e))
    return () => {
      left = true
      shell?.end()
      resized.disconnect()
      screen.dispose()
    }
  }, [of])
  return (
    <>
      <ProblemAlert error={error} />
      {ended !== undefined && (
        <Alert isInline variant={ended ? 'warning' : 'info'} title={ended ? 'The shell ended' : 'The shell has ended.'}>
          <Foreign text={ended} detail />
        </Alert>
      )}
      <div ref={at} className="kq-terminal" />
    </>
  )
}
