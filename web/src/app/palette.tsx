import {
  Label,
  Modal,
  ModalBody,
  ModalVariant,
  SearchInput,
  SimpleList,
  SimpleListItem,
  Spinner,
} from '@patternfly/react-core'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useDeferredValue, useEffect, useState } from 'react'
import { api, ok } from '../api/client'
import { mayAdminister } from '../logic/roles'
import { places } from './navigation'
import { useMe } from './queries'

/** Pages that the navigation does not lead to, or not every user. */
const further = [
  { to: '/create', name: 'Create a cluster' },
  { to: '/import', name: 'Import a cluster' },
  { to: '/profile', name: 'Profile' },
] as const
const administration = { to: '/admin', name: 'Administration' } as const

interface Hit {
  key: string
  name: string
  about: string
  go: () => void
}

const input = 'palette-text'

/** Palette finds pages and clusters by the keyboard: Ctrl-K or ⌘K, arrows, Enter. */
export function Palette({ isOpen, setOpen }: { isOpen: boolean; setOpen: (open: boolean) => void }) {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        setOpen(true)
      }
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [setOpen])
  if (!isOpen) return null
  return (
    <Modal
      variant={ModalVariant.small}
      isOpen
      onClose={() => setOpen(false)}
      aria-label="Find pages and clusters"
      position="top"
      elementToFocus={`#${input}`} // the button that closes it has the focus otherwise
    >
      <ModalBody>
        <Finder close={() => setOpen(false)} />
      </ModalBody>
    </Modal>
  )
}

function Finder({ close }: { close: () => void }) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const { hits, busy } = useHits(useDeferredValue(text.trim()), close)
  const at = Math.min(chosen, Math.max(hits.length - 1, 0))
  return (
    <>
      <SearchInput
        searchInputId={input}
        value={text}
        placeholder="A page, or the name of a cluster"
        aria-label="Find"
        onChange={(_, value) => {
          setText(value)
          setChosen(0)
        }}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown') setChosen(Math.min(at + 1, hits.length - 1))
          else if (event.key === 'ArrowUp') setChosen(Math.max(at - 1, 0))
          else if (event.key === 'Enter') hits[at]?.go()
          else return
          event.preventDefault()
        }}
      />
      <SimpleList aria-label="What was found" className="kq-hits" isControlled={false}>
        {hits.map((hit, i) => (
          <SimpleListItem key={hit.key} isActive={i === at} onClick={hit.go}>
            {hit.name} <Label isCompact>{hit.about}</Label>
          </SimpleListItem>
        ))}
      </SimpleList>
      {busy && <Spinner size="md" aria-label="Searching" />}
      {!busy && hits.length === 0 && <p>Nothing has that name.</p>}
    </>
  )
}

function useHits(text: string, close: () => void): { hits: Hit[]; busy: boolean } {
  const navigate = useNavigate()
  const clusters = useQuery({
    queryKey: ['clusters', 'palette', text],
    queryFn: () => ok(api.GET('/api/v1/clusters', { params: { query: { name: text, limit: 8 } } })),
    enabled: text !== '',
  })
  const all = [...places, ...(mayAdminister(useMe()).allowed ? [administration] : []), ...further]
  const pages = all
    .filter((place) => place.name.toLowerCase().includes(text.toLowerCase()))
    .map((place) => ({
      key: place.to,
      name: place.name,
      about: 'page',
      go: () => {
        close()
        void navigate({ to: place.to, search: {} })
      },
    }))
  const found = (text === '' ? [] : (clusters.data?.items ?? [])).map((cluster) => ({
    key: cluster.uid,
    name: cluster.name,
    about: `cluster of ${cluster.organization}`,
    go: () => {
      close()
      const params = { organization: cluster.organization ?? '', cluster: cluster.name }
      void navigate({ to: '/organizations/$organization/clusters/$cluster', params, search: {} })
    },
  }))
  return { hits: [...found, ...pages], busy: clusters.isFetching && text !== '' }
}
