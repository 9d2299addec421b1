import { constants, createDecipheriv, createPublicKey, privateDecrypt, publicEncrypt } from 'node:crypto'
import { expect, test } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { loadKeyPairs } from '../../kit/web/crypto.ts'

const nodeKey = (pem: string) => ({
  key: pem,
  padding: constants.RSA_PKCS1_OAEP_PADDING,
  oaepHash: 'sha256',
})
const asPem = (kind: string, text: string) => `-----BEGIN ${kind}-----\n${text}\n-----END ${kind}-----`

test('an RSA pair has 4096 bits, exponent 65537 and a 550-byte public half', async () => {
  const [{ publicKey }] = await loadKeyPairs()
  const details = createPublicKey(asPem('PUBLIC KEY', publicKey)).asymmetricKeyDetails

  expect(details).toEqual({ modulusLength: 4096, publicExponent: 65_537n })
  expect(web.fromBase64(publicKey)).toHaveLength(550)
})

test('an RSA pair opens what other code wrapped, and the other way round', async () => {
  const [{ publicKey, privateKey }] = await loadKeyPairs()
  const secret = web.randomBytes(32)

  const theirs = publicEncrypt(nodeKey(asPem('PUBLIC KEY', publicKey)), secret).toString('base64')
  const ours = await web.wrap(await web.importPublicKey(publicKey), secret)

  expect(await web.unwrap(await web.importPrivateKey(privateKey), theirs)).toEqual(secret)
  const opened = privateDecrypt(nodeKey(asPem('PRIVATE KEY', privateKey)), Buffer.from(ours, 'base64'))
  expect(new Uint8Array(opened)).toEqual(secret)
})

test('an RSA pair seals texts of any length in a common format', async () => {
  const [{ publicKey, privateKey }] = await loadKeyPairs()
  const plain = 'Grüße '.repeat(1000)

  const text = await web.sealTo(await web.importPublicKey(publicKey), plain)

  const [wrapped, sealed] = text.split('|').map((part) => Buffer.from(part, 'base64').toString())
  const key = privateDecrypt(nodeKey(asPem('PRIVATE KEY', privateKey)), Buffer.from(wrapped!, 'base64'))
  const [iv, tag, ciphertext] = sealed!.split('|').map((part) => Buffer.from(part, 'base64'))
  const decipher = createDecipheriv('aes-256-gcm', key, iv!).setAuthTag(tag!)
  expect(Buffer.concat([decipher.update(ciphertext!), decipher.final()]).toString()).toBe(plain)
  expect(await web.unsealFrom(await web.importPrivateKey(privateKey), text)).toBe(plain)
})

test('an RSA pair is read from the form that servers write, too', async () => {
  const [{ publicKey, privateKey }] = await loadKeyPairs()
  const written = (kind: string, text: string) =>
    [asPem(kind, text), text].map((part) => Buffer.from(part).toString('base64')).join('|')

  const sealed = await web.sealTo(await web.importPublicKey(written('PUBLIC KEY', publicKey)), 'text')

  expect(await web.unsealFrom(await web.importPrivateKey(written('PRIVATE KEY', privateKey)), sealed)).toBe('text')
})

test('an RSA pair opens nothing of another pair, and nothing altered', async () => {
  const [mine, other] = await loadKeyPairs()
  const key = await web.importPrivateKey(other.privateKey)
  const publicKey = await web.importPublicKey(mine.publicKey)
  const wrapped = await web.wrap(publicKey, web.randomBytes(32))
  const text = await web.sealTo(publicKey, 'text')
  const [first, second] = text.split('|')

  await expect(web.unwrap(key, wrapped)).rejects.toThrow(web.CannotOpen)
  await expect(web.unsealFrom(key, text)).rejects.toThrow(web.CannotOpen)
  const own = await web.importPrivateKey(mine.privateKey)
  for (const altered of [first!, `${second}|${first}`, `${text}|AAAA`, `${first}|`]) {
    await expect(web.unsealFrom(own, altered)).rejects.toThrow(Error)
  }
})

test('an RSA pair has halves that do only their own work', async () => {
  const [{ publicKey, privateKey }] = await loadKeyPairs()

  const imported = await web.importPrivateKey(privateKey)
  expect(imported).toMatchObject({ extractable: false, usages: ['decrypt'] })
  await expect(web.importPrivateKey(publicKey)).rejects.toThrow(web.Malformed)
  await expect(web.importPublicKey(privateKey)).rejects.toThrow(web.Malformed)
  await expect(web.importPublicKey('AAAA')).rejects.toThrow(web.Malformed)
})

test('an RSA pair of 2048 bits is refused', async () => {
  const algorithm = {
    name: 'RSA-OAEP',
    hash: 'SHA-256',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
  }
  const small = await crypto.subtle.generateKey(algorithm, true, ['encrypt', 'decrypt'])
  const spki = web.toBase64(new Uint8Array(await crypto.subtle.exportKey('spki', small.publicKey)))

  await expect(web.importPublicKey(spki)).rejects.toThrow(web.Malformed)
})

test('an RSA pair has a fingerprint that two people can compare', async () => {
  const [mine, other] = await loadKeyPairs()

  expect(await web.fingerprint(mine.publicKey)).toMatch(/^([0-9a-f]{4} ){15}[0-9a-f]{4}$/)
  expect(await web.fingerprint(mine.publicKey)).not.toBe(await web.fingerprint(other.publicKey))
})
