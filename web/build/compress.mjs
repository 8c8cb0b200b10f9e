// Leaves of each file of dist that compresses its gzip form alone: that is what is embedded and sent. Fails when what a browser loads
// first is larger than it may be.
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const dist = new URL('../dist/', import.meta.url).pathname
const mostFirst = 350_000 // bytes, compressed
const compresses = new Set(['.html', '.js', '.css', '.svg', '.json'])

/** What the page loads before it shows anything: the entry, what starts all pages, what both import, and their styles. */
function firstFiles(manifest) {
  const files = new Set()
  const add = (key) => {
    const chunk = manifest[key]
    if (!chunk || files.has(chunk.file)) return
    files.add(chunk.file)
    for (const css of chunk.css ?? []) files.add(css)
    for (const next of chunk.imports ?? []) add(next)
  }
  for (const [key, chunk] of Object.entries(manifest)) if (chunk.isEntry || key === 'src/app/start.tsx') add(key)
  if (files.size < 2) throw new Error('src/app/start.tsx is not in the manifest')
  return files
}

const manifest = JSON.parse(readFileSync(join(dist, '.vite', 'manifest.json'), 'utf8'))
rmSync(join(dist, '.vite'), { recursive: true })
const first = firstFiles(manifest)
let firstBytes = 0
let allBytes = 0
for (const name of readdirSync(dist, { recursive: true })) {
  const path = join(dist, name)
  if (statSync(path).isDirectory()) continue
  if (!compresses.has(extname(name))) {
    allBytes += statSync(path).size
    continue
  }
  const packed = gzipSync(readFileSync(path), { level: 9 })
  writeFileSync(`${path}.gz`, packed)
  rmSync(path)
  allBytes += packed.length
  if (first.has(name)) firstBytes += packed.length
}
const kB = (bytes) => `${Math.round(bytes / 1000)} kB`
console.log(`  ✓ portal: ${kB(firstBytes)} first, ${kB(allBytes)} in all`)
if (firstBytes > mostFirst) {
  console.error(`what a browser loads first is ${kB(firstBytes)}, more than ${kB(mostFirst)}: load pages lazily`)
  process.exit(1)
}
