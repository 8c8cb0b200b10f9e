import { useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { ApiError, api, idempotencyKey, ok } from '../../api/client'
import type { Cluster, NodePool } from '../../api/objects'
import { useReleases } from '../../app/catalogue'
import { checkDraft, serverErrors } from '../../logic/clusterchecks'
import {
  type Draft,
  type FieldErrors,
  inputOf,
  moved,
  nameOf,
  newDraft,
  organizationOf,
  read,
  systemNamespace,
  write,
} from '../../logic/clusterdocument'
import { fromYaml, type LineProblem, toYaml } from '../../logic/clusteryaml'
import { idOf } from '../../ui/field'
import { useTell } from '../../ui/toasts'

export interface Made {
  organization: string
  name: string
}

export interface Checked {
  cluster: Cluster
  pool?: NodePool
}

function begin(organization: string, provisioner?: string): Draft {
  const draft = newDraft(organization)
  if (!provisioner) return draft
  return write(draft, ['cluster', 'spec', 'provisionerRef'], { name: provisioner, namespace: systemNamespace })
}

/** Moves to the first input that something is wrong with: that of a field or, where an object is wrong, one in it. */
function focusFirst(pointers: string[]) {
  const within = (pointer: string) =>
    pointer.split('/').length > 3 && `[id^="${idOf(pointer)}-"]:is(input, select, textarea)`
  for (const pointer of pointers) {
    const exact = document.getElementById(idOf(pointer))
    const below = within(pointer)
    const found = exact ?? (below ? document.querySelector<HTMLElement>(below) : null)
    if (found) return found.focus()
  }
  document.getElementById('outcome')?.focus()
}

/** useMaker keeps the draft and its YAML together, and checks and creates what it says. */
export function useMaker(organization: string, provisioner?: string) {
  const [draft, keep] = useState(() => begin(organization, provisioner))
  const [text, setText] = useState<string>()
  const [problems, setProblems] = useState<LineProblem[]>([])
  const [errors, setErrors] = useState<FieldErrors>({})
  const [error, setError] = useState<unknown>()
  const [checked, setChecked] = useState<Checked>()
  const [half, setHalf] = useState<Made>()
  const [busy, setBusy] = useState<'check' | 'create'>()
  const navigate = useNavigate()
  const client = useQueryClient()
  const tell = useTell()

  const forget = () => {
    setErrors({})
    setError(undefined)
    setChecked(undefined)
  }
  const setDraft = (next: Draft) => {
    forget()
    keep(next)
    setText(undefined)
  }
  /** The text is kept as it was written, comments too, until the form changes the document. */
  const setYaml = (next: string) => {
    forget()
    setText(next)
    const parsed = fromYaml(next)
    setProblems(parsed.problems)
    if (parsed.draft) keep(parsed.draft)
  }

  const [begunIn, setBegunIn] = useState(organization)
  useEffect(() => {
    if (organization === begunIn) return
    setBegunIn(organization) // Another one was chosen at the top of the page.
    setText(undefined)
    keep((now) => moved(now, organization))
  }, [organization, begunIn])

  const newest = useReleases()?.[0]
  const [versioned, setVersioned] = useState(false)
  useEffect(() => {
    if (!newest || versioned) return
    setVersioned(true)
    keep((now) =>
      read(now, ['cluster', 'spec', 'version']) ? now : write(now, ['cluster', 'spec', 'version'], newest),
    )
  }, [newest, versioned])

  const showErrors = (found: FieldErrors) => {
    setErrors(found)
    const pointers = Object.keys(found)
    if (pointers.length === 0) return
    // After what is folded was opened for them.
    setTimeout(() => {
      focusFirst(pointers)
    }, 100)
  }
  const isFine = () => {
    forget()
    const found = checkDraft(draft)
    showErrors(found)
    return Object.keys(found).length === 0
  }
  /** Says at the fields what the server refuses. */
  const step = async <T>(of: 'cluster' | 'pool', call: Promise<T>): Promise<T> => {
    try {
      return await call
    } catch (e) {
      if (e instanceof ApiError) showErrors(serverErrors(of, e.problem.errors ?? []))
      setError(e)
      if (!(e instanceof ApiError && e.problem.errors?.length)) document.getElementById('outcome')?.focus()
      throw e
    }
  }
  const during = async (what: 'check' | 'create', run: () => Promise<void>) => {
    setBusy(what)
    // What fails is shown by step.
    await run().catch(() => {})
    setBusy(undefined)
  }

  const path = { organization: organizationOf(draft) }
  const postCluster = (dryRun?: true) =>
    step(
      'cluster',
      ok(
        api.POST('/api/v1/organizations/{organization}/clusters', {
          params: { path, query: { dryRun }, header: idempotencyKey() },
          body: inputOf(draft.cluster),
        }),
      ),
    )
  const postPool = async (dryRun?: true) => {
    if (!draft.pool) return undefined
    const body = inputOf(draft.pool)
    const call = api.POST('/api/v1/organizations/{organization}/nodepools', {
      params: { path, query: { dryRun }, header: idempotencyKey() },
      body,
    })
    return step('pool', ok(call))
  }

  const open = ({ organization: o, name }: Made) => {
    void client.invalidateQueries({ queryKey: ['clusters'] })
    void navigate({
      to: '/organizations/$organization/clusters/$cluster',
      params: { organization: o, cluster: name },
      search: (before) => ({ org: before.org }),
    })
  }
  const check = async () => {
    if (!isFine()) return
    await during('check', async () => {
      const cluster = await postCluster(true)
      setChecked({ cluster, pool: await postPool(true) })
      setTimeout(() => document.getElementById('outcome')?.focus(), 100)
    })
  }
  const createPool = async (made = half) => {
    if (!made) return
    if (!isFine()) return
    if (nameOf(draft) !== made.name || organizationOf(draft) !== made.organization) {
      showErrors({ '/cluster/metadata/name': `The cluster is there already, as ${made.organization}/${made.name}.` })
      return
    }
    await during('create', async () => {
      await postPool()
      tell(`Creating the cluster ${made.name}`)
      open(made)
    })
  }
  const create = async () => {
    if (!isFine()) return
    await during('create', async () => {
      const cluster = await postCluster()
      const made = { organization: path.organization, name: cluster.name }
      if (draft.pool) {
        setHalf(made)
        await postPool()
      }
      tell(`Creating the cluster ${made.name}`)
      open(made)
    })
  }
  return {
    draft,
    setDraft,
    yaml: text ?? toYaml(draft),
    setYaml,
    problems,
    errors,
    error,
    checked,
    half,
    busy,
    check,
    create,
    createPool: () => createPool(),
    open,
  }
}
