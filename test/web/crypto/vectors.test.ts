import {
  constants,
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  privateDecrypt,
  publicEncrypt,
} from 'node:crypto'
import { describe, expect, test, vi } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { fallbackSalt, keyHash, saltSettings } from '../../../routers/identity/salts.ts'
import { invitation, pairs, passkeyKey, roomKey, salts } from '../../kit/web/crypto.ts'

const fixedIv = '000102030405060708090a0b'

const sealedHello = 'AAECAwQFBgcICQoL|rRl55+tVLkf0GcuRe22t3w==|UvJp3OE='

const sealedRoomKey =
  'AAECAwQFBgcICQoL|BiZu6ujQ9Jomk/EqZz6ZHg==|c9RA2cf4IJ2LcxbZBsGfjsMjCDeubnM3pelR0mJZ/iKGL6GvWJW0Gk8R7ck='

const invitationHash = '00112233445566778899aabbccddeeff'

/** A sealed text made with other code than ours, so that opening it proves which key a derived key is. */
function sealedElsewhere(hexKey: string, plain: string | Buffer, iv = Buffer.from(fixedIv, 'hex')): web.Sealed {
  const cipher = createCipheriv('aes-256-gcm', Buffer.from(hexKey, 'hex'), iv)
  const ciphertext = Buffer.concat([cipher.update(plain), cipher.final()])
  const parts = { ciphertext, iv, tag: cipher.getAuthTag() }
  return {
    ciphertext: parts.ciphertext.toString('base64'),
    iv: parts.iv.toString('base64'),
    tag: parts.tag.toString('base64'),
  }
}

/** The IV is random by nature; here it is held still for one call. */
async function withFixedIv<T>(work: () => Promise<T>): Promise<T> {
  const drawn = vi.spyOn(globalThis.crypto, 'getRandomValues').mockImplementation((array) => {
    Buffer.from(array!.buffer, array!.byteOffset, array!.byteLength).set(Buffer.from(fixedIv, 'hex'))
    return array
  })
  try {
    return await work()
  } finally {
    drawn.mockRestore()
  }
}

describe('the test vectors', () => {
  const isKey = async (key: web.Key, hex: string) =>
    expect(await web.unseal(key, sealedElsewhere(hex, 'a text'))).toBe('a text')

  test('passkey', async () => {
    await isKey(await passkeyKey(), '703bd7da137c7a9d31859914e1cde362d0006b2eabfdcfaacfb2714f5e27cc5c')
  })

  test('string A, opened', async () => {
    expect(await web.unseal(await passkeyKey(), web.readSealed(sealedHello))).toBe('hello')
  })

  test('string A, sealed', async () => {
    const key = await passkeyKey()

    expect(await withFixedIv(async () => web.writeSealed(await web.seal(key, 'hello')))).toBe(sealedHello)
  })

  test('string B, opened as a keychain value', async () => {
    const entry = { key: 'my-room-AbC123', keyType: 'room_key', value: sealedRoomKey } as const

    expect(await web.unsealEntry(await passkeyKey(), entry)).toBe(roomKey)
  })

  test('string B, sealed as a keychain value', async () => {
    const key = await passkeyKey()
    const entry = { key: 'my-room-AbC123', keyType: 'room_key', value: roomKey } as const

    expect(await withFixedIv(() => web.sealEntry(key, entry))).toEqual({ ...entry, value: sealedRoomKey })
  })

  test('room AI key', async () => {
    const key = await web.roomAiKey(roomKey, 'my-room-AbC123', salts)

    expect(web.toHex(web.keyBytes(key))).toBe('c111a3fca682611e93f3b0e7654c5b9e57d6a25b4ad5fda620b1d705eed578ec')
  })

  test('legacy room AI key', async () => {
    await isKey(
      await web.legacyRoomAiKey('my-room-AbC123', salts),
      'c68ec3536fe3516b904f069061f546ca7f4a4daa35cb71d48161fc8a14aa90f2',
    )
  })

  test('backup code', async () => {
    await isKey(
      await web.backupKey('0123-4567-89ab-cdef', 'jdoe', salts),
      '947ed1936e8fcd69c17962cc01671092fb2e3bf36b937da95c7e4ec51a5bed8d',
    )
  })

  test('local passkey wrap', async () => {
    await isKey(
      await web.localCopyKey('jdoe@example.org', 'jdoe', salts),
      'f603cf669a26f5010817011d483c24b4ba4ad4b9fa1237343183d12c1a11b823',
    )
  })

  test('invitation hash', async () => {
    await isKey(
      await web.invitationKey(invitationHash, salts),
      'd731432cc9691d1669096f7f4627d8f651db0c0a376894ee74dc44f907167074',
    )
  })

  test('invitation, opened', async () => {
    expect(await web.openByHash(invitationHash, invitation, salts)).toBe(roomKey)
  })

  test('invitation, sealed', async () => {
    expect(await withFixedIv(() => web.inviteByHash(invitationHash, roomKey, salts))).toEqual(invitation)
  })

  test.for([
    ['userdata', 'f037266f9b32c40c1b9e43109bc73c9399fde03a01cc5328c53d82ce1779a831'],
    ['invitation', 'ddb173fc98c9b42648798442e94cce32f4e080a40f30c533c2bba84cdb9f63a5'],
    ['ai', '617a0eac5c126e7a415384f3675274838473f1af80ebcb4ce1e9422e1e52ca70'],
    ['passkey', '0e201e4607bea5bcf4b0ad184c0a6eb5e4cc476f4c4e39ab09a156932a4533c4'],
    ['backup', '5d0bab706caeeaa36b1b95b63049e45d53d33186558ceebd4d44b4d1033af69d'],
  ] as const)('fallback salt %s', ([name, expected]) => {
    const appKey = 'base64:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

    expect(fallbackSalt(appKey, saltSettings[name])).toBe(expected)
  })

  test('hash of the user information', () => {
    expect(keyHash(42, 'PUBKEY')).toBe('be1c95d8f0bb6ad1db423eff82722be8')
  })
})

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

test('a sealed text with a shortened tag or IV is refused before it is tried', async () => {
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

  expect(await web.unseal(key, sealedElsewhere(hex, ''))).toBe('')
  await expect(web.unseal(key, sealedElsewhere(hex, Buffer.from([0xff])))).rejects.toThrow(web.Malformed)
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

const nodeKey = (pem: string) => ({
  key: pem,
  padding: constants.RSA_PKCS1_OAEP_PADDING,
  oaepHash: 'sha256',
})
const asPem = (kind: string, text: string) => `-----BEGIN ${kind}-----\n${text}\n-----END ${kind}-----`

test('an RSA pair has 4096 bits, exponent 65537, and a public half of 550 bytes', async () => {
  const [{ publicKey }] = await pairs
  const details = createPublicKey(asPem('PUBLIC KEY', publicKey)).asymmetricKeyDetails

  expect(details).toEqual({ modulusLength: 4096, publicExponent: 65_537n })
  expect(web.fromBase64(publicKey)).toHaveLength(550)
})

test('an RSA pair opens what other code wrapped, and the other way round', async () => {
  const [{ publicKey, privateKey }] = await pairs
  const secret = web.randomBytes(32)

  const theirs = publicEncrypt(nodeKey(asPem('PUBLIC KEY', publicKey)), secret).toString('base64')
  const ours = await web.wrap(await web.importPublicKey(publicKey), secret)

  expect(await web.unwrap(await web.importPrivateKey(privateKey), theirs)).toEqual(secret)
  const opened = privateDecrypt(nodeKey(asPem('PRIVATE KEY', privateKey)), Buffer.from(ours, 'base64'))
  expect(new Uint8Array(opened)).toEqual(secret)
})

test('an RSA pair seals texts of any length to its public half, in a format that other code reads', async () => {
  const [{ publicKey, privateKey }] = await pairs
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
  const [{ publicKey, privateKey }] = await pairs
  const written = (kind: string, text: string) =>
    [asPem(kind, text), text].map((part) => Buffer.from(part).toString('base64')).join('|')

  const sealed = await web.sealTo(await web.importPublicKey(written('PUBLIC KEY', publicKey)), 'text')

  expect(await web.unsealFrom(await web.importPrivateKey(written('PRIVATE KEY', privateKey)), sealed)).toBe('text')
})

test('an RSA pair opens nothing of another pair, and nothing altered', async () => {
  const [mine, other] = await pairs
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
  const [{ publicKey, privateKey }] = await pairs

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
  const [mine, other] = await pairs

  expect(await web.fingerprint(mine.publicKey)).toMatch(/^([0-9a-f]{4} ){15}[0-9a-f]{4}$/)
  expect(await web.fingerprint(mine.publicKey)).not.toBe(await web.fingerprint(other.publicKey))
})

test('a plain passkey has only letters, digits and the signs of the number row', () => {
  for (const good of ['Datakey_123', 'aZ09!@#$%^&*()_+-']) expect(good).toMatch(web.plainPasskey)
  for (const bad of ['', 'two words', 'Schlüssel', 'a.b', 'line\n', 'a~', 'a{b'])
    expect(bad).not.toMatch(web.plainPasskey)
})

const validatorOf = async (publicKey: string, inKeychain = publicKey) => ({
  publicKey,
  validator: web.writeSealed(await web.seal(await passkeyKey(), inKeychain)),
})

test('unlocking tells a wrong passkey from a right one', async () => {
  const [{ publicKey }] = await pairs
  const validator = await validatorOf(publicKey)

  expect(await web.unlock('Datakey_123', validator, salts)).toBeDefined()
  expect(await web.unlock('Datakey_124', validator, salts)).toBeUndefined()
})

test('unlocking knows a right passkey from a wrong one by a keychain that is still one blob, too', async () => {
  const [{ publicKey, privateKey }, other] = await pairs
  const old = JSON.stringify({ username: 'jdoe', 'time-signature': 1, publicKey, privateKey, aiConvKey: {} })
  const validator = { publicKey, validator: web.writeSealed(await web.seal(await passkeyKey(), old)) }

  expect(await web.unlock('Datakey_123', validator, salts)).toBeDefined()
  expect(await web.unlock('Datakey_124', validator, salts)).toBeUndefined()
  await expect(web.unlock('Datakey_123', { ...validator, publicKey: other.publicKey }, salts)).rejects.toThrow(
    web.Malformed,
  )
})

test('unlocking stops when the service shows a public key that is not the one in the keychain', async () => {
  const [mine, other] = await pairs

  await expect(web.unlock('Datakey_123', await validatorOf(other.publicKey, mine.publicKey), salts)).rejects.toThrow(
    web.Malformed,
  )
})

test('unlocking does not call a broken validator a wrong passkey', async () => {
  const validator = { publicKey: 'AAAA', validator: 'AAAA|AAAA' }

  await expect(web.unlock('Datakey_123', validator, salts)).rejects.toThrow(web.Malformed)
})

test('unlocking refuses a keychain value that was put into another slot', async () => {
  const [{ publicKey, privateKey }] = await pairs
  const key = await passkeyKey()
  const plain = { private_key: privateKey, public_key: publicKey, ai_conv: roomKey } as const
  const kinds = Object.keys(plain) as (keyof typeof plain)[]

  for (const from of kinds) {
    const { value } = await web.sealEntry(key, { key: 'k', keyType: from, value: plain[from] })
    for (const to of kinds) {
      const opened = web.unsealEntry(key, { key: 'k', keyType: to, value })
      await (to === from ? expect(opened).resolves.toBe(plain[from]) : expect(opened).rejects.toThrow(web.Malformed))
    }
  }
})
