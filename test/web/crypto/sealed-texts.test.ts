import { expect, test } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { sealWithNode } from '../../kit/web/crypto.ts'

test.for(['', 'x', '\uFEFFwith a mark', 'Grüße, 世界, \u{1F600}', 'long '.repeat(100_000)])(
  'a sealed text opens to what it was (%#)',
  async (plain) => {
    const key = await web.importKey(web.makeKey())

    expect(await web.unseal(key, web.readSealed(web.writeSealed(await web.seal(key, plain))))).toBe(plain)
  },
)

test('a sealed text has an IV of its own', async () => {
  const key = await web.importKey(web.makeKey())
  const sealed = await Promise.all(Array.from({ length: 50 }, () => web.seal(key, 'same')))

  expect(new Set(sealed.map(({ iv }) => iv)).size).toBe(50)
})

test.for(['ciphertext', 'iv', 'tag'] as const)(
  'a sealed text with one bit of its %s flipped does not open',
  async (part) => {
    const key = await web.importKey(web.makeKey())
    const sealed = await web.seal(key, 'text')
    const bytes = web.fromBase64(sealed[part])
    bytes[0]! ^= 1

    await expect(web.unseal(key, { ...sealed, [part]: web.toBase64(bytes) })).rejects.toThrow(web.CannotOpen)
  },
)

test('a sealed text with a short tag or IV is refused before decryption', async () => {
  const key = await web.importKey(web.makeKey())
  const sealed = await web.seal(key, 'text')

  for (const part of ['iv', 'tag'] as const) {
    const shorter = web.toBase64(web.fromBase64(sealed[part]).slice(0, -1))
    await expect(web.unseal(key, { ...sealed, [part]: shorter })).rejects.toThrow(web.Malformed)
  }
})

test.for(['', 'one', 'one|two', 'AAAA|AAAA|AAAA|AAAA', '||AAAA'])('a sealed text cannot be read from «%s»', (text) => {
  expect(() => web.readSealed(text)).toThrow(web.Malformed)
})

test('a sealed text may be empty, but what is not UTF-8 is refused', async () => {
  const hex = '11'.repeat(32)
  const key = await web.importKey(Buffer.from(hex, 'hex').toString('base64'))

  expect(await web.unseal(key, sealWithNode(hex, ''))).toBe('')
  await expect(web.unseal(key, sealWithNode(hex, Buffer.from([0xff])))).rejects.toThrow(web.Malformed)
})

test.for(['A', 'AA=', 'AA', 'A===', '====', 'AA AA===', 'AA\nA', 'AA-_', 'AA=A', '%%%%'])(
  'base64 is not «%s»',
  (text) => {
    expect(() => web.fromBase64(text)).toThrow(web.Malformed)
  },
)

test('base64 agrees with Node for all bytes and lengths', () => {
  for (let length = 0; length < 260; length++) {
    const bytes = Uint8Array.from({ length }, (_, index) => 255 - (index % 256))
    expect(web.toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
    expect(web.fromBase64(web.toBase64(bytes))).toEqual(bytes)
  }
})
