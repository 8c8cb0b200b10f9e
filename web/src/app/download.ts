/** download hands a content to the browser as a file. */
export function download(name: string, content: Blob) {
  const url = URL.createObjectURL(content)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

/** downloadYaml does so with a document. */
export function downloadYaml(name: string, text: string) {
  download(name, new Blob([text], { type: 'application/yaml' }))
}
