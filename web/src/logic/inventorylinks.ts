type Search = Record<string, string | undefined>

/** keptOf is what stays chosen when one goes on to another view: the organization, the clusters and namespaces, and the time. */
function keptOf(search: Search): Search {
  const { org, cluster, clusterLabel, namespace, at } = search
  return { org, cluster, clusterLabel, namespace, at }
}

/** timeOf is when a row of a comparison was there: what vanished at the begin, what appeared at the end. */
function timeOf(search: Search, change: string | undefined): Search {
  if (!search.from) return {}
  return { at: change === 'Vanished' ? search.from : search.to }
}

/** whoRuns leads to the containers that run an image: by its digest, or by its name while that is not known. */
export function whoRuns(
  image: { repository: string; tag?: string; digest?: string; change?: string },
  search: Search,
): Search {
  const what: Search = image.digest ? { digest: image.digest } : { repository: image.repository, tag: image.tag }
  return { ...keptOf(search), ...timeOf(search, image.change), view: 'containers', ...what }
}

/** whereRuns leads to the places where a version of a program runs. One that cannot be seen has no version to ask for. */
export function whereRuns(binary: { component: string; version?: string; change?: string }, search: Search): Search {
  const version = binary.version ? `=${binary.version}` : undefined
  return {
    ...keptOf(search),
    ...timeOf(search, binary.change),
    view: 'binaries',
    places: 'true',
    component: binary.component,
    version,
  }
}
