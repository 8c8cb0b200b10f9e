/** How many digests a search takes. */
export const mostDigests = 1000

/** digestsOf reads digests, one in a line, as feeds of vulnerabilities have them: what is before an @ and behind a # is left out. */
export function digestsOf(text: string): { digests: string[]; wrong: string[] } {
  const digests = new Set<string>()
  const wrong: string[] = []
  for (const line of text.split('\n')) {
    const said = (line.split('#')[0] ?? '').trim()
    if (!said) continue
    const digest = said.slice(said.lastIndexOf('@') + 1).trim()
    if (/^[a-z0-9+._-]+:[0-9a-zA-Z=_-]{32,}$/.test(digest) && digest.length <= 256) digests.add(digest)
    else wrong.push(said)
  }
  return { digests: [...digests], wrong }
}

/** shortDigest is the begin of a digest that tells it from others at a glance. */
export function shortDigest(digest: string): string {
  const [algorithm, value] = digest.split(':')
  return value && value.length > 12 ? `${algorithm}:${value.slice(0, 12)}…` : digest
}
