import { expect, test } from 'vitest'
import { digestsOf, shortDigest } from './digests'

const digest = `sha256:${'ab'.repeat(32)}`

test('digestsOf reads feeds', () => {
  const text = `${digest} # CVE-2026-0001\n\nregistry.example/app@${digest}\n# a remark\nnginx:1.27\nsha512:${'c'.repeat(300)}`
  expect(digestsOf(text)).toEqual({ digests: [digest], wrong: ['nginx:1.27', `sha512:${'c'.repeat(300)}`] })
})

test.each([
  [digest, 'sha256:abababababab…'],
  ['sha256:short', 'sha256:short'],
  ['no digest', 'no digest'],
])('shortDigest %s', (text, want) => {
  expect(shortDigest(text)).toBe(want)
})
