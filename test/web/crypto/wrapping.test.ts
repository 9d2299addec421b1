import { pbkdf2Sync } from 'node:crypto'
import { expect, test } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { derivePasskeyKey, fixedIv, loadKeyPairs, roomKey, salt, salts, sealWithNode } from '../../kit/web/crypto.ts'

const PASSKEY = 'Schlüssel zum Schloß'
const personSalt = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex')

/** The bytes in front of the IV: a version, the rounds and the salt of the person. */
function buildHeader(rounds: number, version = 2): Buffer {
  const head = Buffer.alloc(5)
  head.writeUInt8(version)
  head.writeUInt32BE(rounds, 1)
  return Buffer.concat([head, personSalt])
}

/** Seals a value in the salted form with other code than ours. */
function sealSalted(passkey: string, plain: string, rounds = 600_000): string {
  const saltBytes = Buffer.concat([Buffer.from(`keychain_encryptor${salt}`), personSalt])
  const key = pbkdf2Sync(passkey, saltBytes, rounds, 32, 'sha256')
  const { tag, ciphertext } = sealWithNode(key.toString('hex'), plain)
  const iv = Buffer.concat([buildHeader(rounds), Buffer.from(fixedIv, 'hex')]).toString('base64')
  return [iv, tag, ciphertext].join('|')
}

const makeKeys = async (form: web.KeychainForm) => {
  const key = await web.deriveKeychainKey(PASSKEY, web.makeWrapping(form), salts)
  const [{ publicKey, privateKey }] = await loadKeyPairs()
  const plain = [
    { key: 'privateKey', keyType: 'private_key', value: privateKey },
    { key: 'publicKey', keyType: 'public_key', value: publicKey },
    { key: 'room', keyType: 'room_key', value: roomKey },
  ] as const
  const keychain = await Promise.all(plain.map((entry) => web.sealEntry(key, entry)))
  return { key, plain, keychain, validator: { publicKey, validator: keychain[1]!.value } }
}

test('a keychain value of the salted form opens as other code has sealed it', async () => {
  const [{ publicKey }] = await loadKeyPairs()
  const value = sealSalted(PASSKEY, publicKey)

  const key = await web.unlock(PASSKEY, { publicKey, validator: value }, salts)

  expect(await web.unsealEntry(key!, { key: 'publicKey', keyType: 'public_key', value })).toBe(publicKey)
})

test('a keychain value has three parts in both forms', async () => {
  for (const form of ['reference', 'salted'] as const) {
    const { keychain } = await makeKeys(form)
    for (const { value } of keychain) expect(value).toMatch(/^[A-Za-z0-9+/]+=*\|[A-Za-z0-9+/]+=*\|[A-Za-z0-9+/]+=*$/)
  }
})

test('a keychain of either form is unlocked by the same call', async () => {
  for (const form of ['reference', 'salted'] as const) {
    const { plain, keychain, validator } = await makeKeys(form)
    const key = await web.unlock(PASSKEY, validator, salts)

    expect(web.hasForm(web.readWrapping(validator.validator), form)).toBe(true)
    expect(await Promise.all(keychain.map((entry) => web.unsealEntry(key!, entry)))).toEqual(
      plain.map(({ value }) => value),
    )
    expect(await web.unlock(`${PASSKEY}?`, validator, salts)).toBeUndefined()
  }
})

test('two keychains of one passkey have different salts', () => {
  const wrappings = Array.from({ length: 20 }, () => web.makeWrapping('salted'))

  expect(new Set(wrappings).size).toBe(20)
  expect([web.makeWrapping('reference'), web.readWrapping('a|b|c')]).toEqual(['', ''])
})

test('a passkey opens however a keyboard writes its letters', async () => {
  const composed = PASSKEY.normalize('NFC')
  const decomposed = PASSKEY.normalize('NFD')
  expect(composed).not.toBe(decomposed)
  const { validator } = await makeKeys('salted')
  const [{ publicKey }] = await loadKeyPairs()
  const inReference = async (passkey: string) => ({
    publicKey,
    validator: await web.sealValue(await web.passkeyKey(passkey, salts), publicKey),
  })

  for (const typed of [composed, decomposed])
    expect(await web.tryPasskey(typed, validator, salts)).toMatchObject({ passkey: composed })
  expect(await web.tryPasskey(decomposed, await inReference(composed), salts)).toMatchObject({ passkey: composed })
  expect(await web.tryPasskey(decomposed, await inReference(decomposed), salts)).toMatchObject({ passkey: decomposed })
})

test.for([
  ['fewer rounds than are allowed', buildHeader(599_999)],
  ['rounds for minutes', buildHeader(0xffff_ffff)],
  ['another version', buildHeader(600_000, 3)],
] as const)('a keychain value with %s is refused before any work', async ([, header]) => {
  const validator = ['AAAAAAAAAAAAAAAA', 'AAAA', 'AAAA'].join('|')

  await expect(
    web.unlock(PASSKEY, { publicKey: 'AAAA', validator: header.toString('base64') + validator }, salts),
  ).rejects.toThrow(web.Malformed)
})

test.for([
  ['reference', 'salted'],
  ['salted', 'reference'],
  ['salted', 'salted'],
] as const)('a keychain of the form %s is rewrapped as %s without loss', async ([from, to]) => {
  const { key, plain, keychain } = await makeKeys(from)
  const next = await web.deriveKeychainKey('another passkey', web.makeWrapping(to), salts)

  const rewrapped = await web.rewrapEntries(key, next, keychain)

  expect(await Promise.all(rewrapped.map((entry) => web.unsealEntry(next, entry)))).toEqual(
    plain.map(({ value }) => value),
  )
  expect(rewrapped.map(({ replaces }) => replaces)).toEqual(keychain.map(({ value }) => value.split('|')[1]))
  for (const entry of rewrapped) await expect(web.unsealEntry(key, entry)).rejects.toThrow(web.CannotOpen)
})

test('rewrapping leaves an unreadable entry as it is, unless everything depends on it', async () => {
  const { key, keychain } = await makeKeys('salted')
  const next = await web.deriveKeychainKey(PASSKEY, '', salts)
  const foreign = await web.sealEntry(await derivePasskeyKey(), { key: 'old', keyType: 'room_key', value: roomKey })

  const rewrapped = await web.rewrapEntries(key, next, [...keychain, foreign])

  expect(rewrapped.at(-1)).toMatchObject(foreign)
  const stranger = { ...foreign, keyType: 'private_key' } as const
  await expect(web.rewrapEntries(key, next, [stranger])).rejects.toThrow(web.CannotOpen)
})
