import { describe, expect, test, vi } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { fallbackSalt, keyHash, saltSettings } from '../../../routers/identity/salts.ts'
import { derivePasskeyKey, fixedIv, invitation, roomKey, salts, sealWithNode } from '../../kit/web/crypto.ts'

const sealedHello = 'AAECAwQFBgcICQoL|rRl55+tVLkf0GcuRe22t3w==|UvJp3OE='

const sealedRoomKey =
  'AAECAwQFBgcICQoL|BiZu6ujQ9Jomk/EqZz6ZHg==|c9RA2cf4IJ2LcxbZBsGfjsMjCDeubnM3pelR0mJZ/iKGL6GvWJW0Gk8R7ck='

const invitationHash = '00112233445566778899aabbccddeeff'

/** Fixes the random IV for one call. */
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
    expect(await web.unseal(key, sealWithNode(hex, 'a text'))).toBe('a text')

  test('a passkey makes the key of its test vector', async () => {
    await isKey(await derivePasskeyKey(), '703bd7da137c7a9d31859914e1cde362d0006b2eabfdcfaacfb2714f5e27cc5c')
  })

  test('the sealed text A of the test vectors opens', async () => {
    expect(await web.unseal(await derivePasskeyKey(), web.readSealed(sealedHello))).toBe('hello')
  })

  test('the text A is sealed as the test vector has it', async () => {
    const key = await derivePasskeyKey()

    expect(await withFixedIv(async () => web.writeSealed(await web.seal(key, 'hello')))).toBe(sealedHello)
  })

  test('the keychain value B of the test vectors opens', async () => {
    const entry = { key: 'my-room-AbC123', keyType: 'room_key', value: sealedRoomKey } as const

    expect(await web.unsealEntry(await derivePasskeyKey(), entry)).toBe(roomKey)
  })

  test('the text B is sealed as the keychain value that the test vector has', async () => {
    const key = await derivePasskeyKey()
    const entry = { key: 'my-room-AbC123', keyType: 'room_key', value: roomKey } as const

    expect(await withFixedIv(() => web.sealEntry(key, entry))).toEqual({ ...entry, value: sealedRoomKey })
  })

  test('the key of a room makes the AI key of its test vector', async () => {
    const key = await web.roomAiKey(roomKey, 'my-room-AbC123', salts)

    expect(web.toHex(web.keyBytes(key))).toBe('c111a3fca682611e93f3b0e7654c5b9e57d6a25b4ad5fda620b1d705eed578ec')
  })

  test('the key of a room makes the legacy AI key of its test vector', async () => {
    await isKey(
      await web.legacyRoomAiKey('my-room-AbC123', salts),
      'c68ec3536fe3516b904f069061f546ca7f4a4daa35cb71d48161fc8a14aa90f2',
    )
  })

  test('a recovery code makes the key of its test vector', async () => {
    await isKey(
      await web.backupKey('0123-4567-89ab-cdef', 'jdoe', salts),
      '947ed1936e8fcd69c17962cc01671092fb2e3bf36b937da95c7e4ec51a5bed8d',
    )
  })

  test('the key that wraps a passkey locally is that of its test vector', async () => {
    await isKey(
      await web.localCopyKey('jdoe@example.org', 'jdoe', salts),
      'f603cf669a26f5010817011d483c24b4ba4ad4b9fa1237343183d12c1a11b823',
    )
  })

  test('the hash of an invitation makes the key of its test vector', async () => {
    await isKey(
      await web.invitationKey(invitationHash, salts),
      'd731432cc9691d1669096f7f4627d8f651db0c0a376894ee74dc44f907167074',
    )
  })

  test('the invitation of the test vectors opens', async () => {
    expect(await web.openByHash(invitationHash, invitation, salts)).toBe(roomKey)
  })

  test('an invitation is sealed as the test vector has it', async () => {
    expect(await withFixedIv(() => web.inviteByHash(invitationHash, roomKey, salts))).toEqual(invitation)
  })

  test.for([
    ['userdata', 'f037266f9b32c40c1b9e43109bc73c9399fde03a01cc5328c53d82ce1779a831'],
    ['invitation', 'ddb173fc98c9b42648798442e94cce32f4e080a40f30c533c2bba84cdb9f63a5'],
    ['ai', '617a0eac5c126e7a415384f3675274838473f1af80ebcb4ce1e9422e1e52ca70'],
    ['passkey', '0e201e4607bea5bcf4b0ad184c0a6eb5e4cc476f4c4e39ab09a156932a4533c4'],
    ['backup', '5d0bab706caeeaa36b1b95b63049e45d53d33186558ceebd4d44b4d1033af69d'],
  ] as const)('the fallback of the salt %s is that of its test vector', ([name, expected]) => {
    const appKey = 'base64:MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

    expect(fallbackSalt(appKey, saltSettings[name])).toBe(expected)
  })

  test('the hash of the user information is that of its test vector', () => {
    expect(keyHash(42, 'PUBKEY')).toBe('be1c95d8f0bb6ad1db423eff82722be8')
  })
})
