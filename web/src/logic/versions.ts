function parts(version: string): number[] {
  return version.replace(/^v/, '').split('.').map(Number)
}

/** newestFirst orders versions such as v1.36.3 as versions: v1.36.10 is newer than v1.36.9. */
export function newestFirst(versions: string[]): string[] {
  return [...versions].sort((a, b) => {
    const [x, y] = [parts(a), parts(b)]
    for (let i = 0; i < 3; i++) {
      const difference = (y[i] ?? 0) - (x[i] ?? 0)
      if (difference) return difference
    }
    return 0
  })
}
