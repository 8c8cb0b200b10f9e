/** cores writes thousandths of a processor as "1.5". */
export function cores(milliCPU: number): string {
  return (milliCPU / 1000).toLocaleString('en', { maximumFractionDigits: milliCPU < 10_000 ? 2 : 0 })
}

/** bytes writes an amount of memory in powers of 1024, as "3.5 GiB". */
export function bytes(amount: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let at = 0
  let left = amount
  while (left >= 1024 && at < units.length - 1) {
    left /= 1024
    at++
  }
  return `${left.toLocaleString('en', { maximumFractionDigits: left < 10 && at > 0 ? 1 : 0 })} ${units[at]}`
}

/** count writes a number with its noun: "1 cluster", "2,000 clusters". */
export function count(n: number, noun: string): string {
  return `${n.toLocaleString('en')} ${noun}${n === 1 ? '' : 's'}`
}
