import { Dropdown, DropdownItem, DropdownList, MenuToggle } from '@patternfly/react-core'
import { useState } from 'react'
import { ApiError, type Problem } from '../../api/client'
import { download } from '../../app/download'
import { useUrlState } from '../../app/urlstate'
import { type Format, pathOf, queryOf, type ViewName, views } from '../../logic/inventory'
import { useTell } from '../../ui/toasts'
import { pasted } from './pasted'

/** How many rows a page has at most. */
const most = 500

const texts: Record<Format, [string, string]> = {
  csv: ['CSV', 'all rows, for a spreadsheet'],
  cyclonedx: ['CycloneDX 1.6 (JSON)', 'all images, as a bill of materials'],
  json: ['JSON', `this page, up to ${most} rows, with the age of the data`],
}

/** Export saves the answer to the question of the page as a file. What the server refuses is told, not saved. */
export function Export({ view }: { view: ViewName }) {
  const [search] = useUrlState()
  const [open, setOpen] = useState(false)
  const [busy, setBusy] = useState(false)
  const tell = useTell()
  const digests = view === 'containers' && search.search === 'digests' ? pasted() : []
  const comparing = 'compares' in views[view] && search.from
  const formats = (views[view].formats as readonly Format[]).filter((format) => format !== 'cyclonedx' || !comparing)
  const run = async (format: Format) => {
    setBusy(true)
    try {
      const query = queryOf(view, search, most)
      if (digests.length === 0) return await save(pathOf(view, query, format), nameOf(view, format))
      const { text: _, repository: __, tag: ___, digest: ____, ...where } = query
      await save(pathOf('containers/search', where, format), nameOf(view, format), { digests })
    } catch (error) {
      tell('The export failed', 'danger', error instanceof Error ? error.message : String(error))
    } finally {
      setBusy(false)
    }
  }
  return (
    <Dropdown
      isOpen={open}
      onOpenChange={setOpen}
      onSelect={(_, value) => {
        setOpen(false)
        void run(value as Format)
      }}
      toggle={(ref) => (
        <MenuToggle ref={ref} onClick={() => setOpen(!open)} isExpanded={open} isDisabled={busy} variant="secondary">
          {busy ? 'Exporting…' : 'Export'}
        </MenuToggle>
      )}
      popperProps={{ position: 'right', appendTo: 'inline' }}
    >
      <DropdownList>
        {formats.map((format) => (
          <DropdownItem key={format} value={format} description={texts[format][1]}>
            {texts[format][0]}
          </DropdownItem>
        ))}
      </DropdownList>
    </Dropdown>
  )
}

function nameOf(view: ViewName, format: Format): string {
  return `kqueen-${view}.${{ csv: 'csv', json: 'json', cyclonedx: 'cdx.json' }[format]}`
}

async function save(path: string, name: string, body?: unknown) {
  const answer = await fetch(
    path,
    body === undefined
      ? undefined
      : { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) },
  )
  if (!answer.ok) {
    const problem = (await answer.json().catch(() => ({}))) as Problem
    throw new ApiError({ ...problem, status: answer.status })
  }
  download(name, await answer.blob())
}
