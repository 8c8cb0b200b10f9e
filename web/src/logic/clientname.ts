const browsers: [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\b(OPR|Opera)\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Headless)?(Chrome|CriOS|Chromium)\//, 'Chrome'],
  [/\bVersion\/.*Safari/, 'Safari'],
]

const systems: [RegExp, string][] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/CrOS/, 'ChromeOS'],
  [/Linux|X11/, 'Linux'],
]

const called = (all: [RegExp, string][], text: string) => all.find(([pattern]) => pattern.test(text))?.[1]

/** clientName shortens what a browser calls itself to "Firefox on Linux". Names that are no browser's stay as they are. */
export function clientName(name: string): string {
  if (!name.startsWith('Mozilla/')) return name
  const system = called(systems, name)
  return `${called(browsers, name) ?? 'A browser'}${system ? ` on ${system}` : ''}`
}
