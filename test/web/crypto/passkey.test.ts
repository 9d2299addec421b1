import { expect, test } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { derivePasskeyKey, loadKeyPairs, roomKey, salt, salts } from '../../kit/web/crypto.ts'

test('a derived key takes one byte per UTF-16 unit of the salt, modulo 256', async () => {
  const sealed = await web.seal(await web.passkeyKey('x', { userdata: 'ŁĀ\u{1F600}' }), 'text')

  expect(await web.unseal(await web.passkeyKey('x', { userdata: 'A\u0000=\u0000' }), sealed)).toBe('text')
})

test('a derived key cannot be exported', async () => {
  const key = await derivePasskeyKey()

  expect(key.extractable).toBe(false)
  await expect(crypto.subtle.exportKey('raw', key)).rejects.toThrow()
})

test('a derived key of another passkey, user, purpose or salt opens nothing', async () => {
  const sealed = await web.seal(await derivePasskeyKey(), 'text')

  for (const other of [
    web.passkeyKey('datakey_123', salts),
    web.passkeyKey('Datakey_123', { userdata: `${salt}0` }),
    web.backupKey('Datakey_123', 'jdoe', salts),
    web.invitationKey('Datakey_123', salts),
  ]) {
    await expect(web.unseal(await other, sealed)).rejects.toThrow(web.CannotOpen)
  }
})

test.for([
  ['a secret', () => web.passkeyKey('', salts)],
  ['a salt', () => web.passkeyKey('Datakey_123', { userdata: '' })],
  ['a label', () => web.roomAiKey(roomKey, '', salts)],
] as const)('a derived key is not made without %s', async ([, derive]) => {
  await expect(derive()).rejects.toThrow(TypeError)
})

test('a derived key that every account can compute seals nothing', async () => {
  for (const weak of [web.legacyRoomAiKey('room', salts), web.localCopyKey('j@example.org', 'jdoe', salts)]) {
    await expect(web.seal(await weak, 'text')).rejects.toThrow(expect.objectContaining({ name: 'InvalidAccessError' }))
  }
})

test('a first login makes keys and a code that recovers the passkey', async () => {
  const { handshake, backupCode } = await web.firstKeys('Datakey_123', 'jdoe', salts)
  const [privateEntry, publicEntry, conversations] = handshake.keychain
  const validator = { publicKey: handshake.publicKey, validator: publicEntry!.value }

  const key = await web.unlock('Datakey_123', validator, salts)

  expect(handshake.keychain.map(({ key, keyType }) => [key, keyType])).toEqual([
    ['privateKey', 'private_key'],
    ['publicKey', 'public_key'],
    ['aiConvKey', 'ai_conv'],
  ])
  const sealed = await web.sealTo(await web.importPublicKey(handshake.publicKey), 'for me')
  const privateKey = await web.importPrivateKey(await web.unsealEntry(key!, privateEntry!))
  expect(await web.unsealFrom(privateKey, sealed)).toBe('for me')
  expect(web.keyBytes(await web.unsealEntry(key!, conversations!))).toHaveLength(32)
  expect(await web.recover(backupCode, 'jdoe', handshake.passkeyBackup, salts)).toBe('Datakey_123')
})

test('a first login reveals no passkey, code or plain private key', async () => {
  const { handshake, backupCode, key } = await web.firstKeys('Datakey_123', 'jdoe', salts)
  const posted = JSON.stringify(handshake)

  expect(key).toMatchObject({ extractable: false })
  expect(Object.keys(handshake).sort()).toEqual(['keychain', 'passkeyBackup', 'publicKey'])
  for (const secret of ['Datakey_123', btoa('Datakey_123'), backupCode, backupCode.replaceAll('-', '')]) {
    expect(posted).not.toContain(secret)
  }
  const values = handshake.keychain.map(({ value }) => web.readSealed(value))
  expect(values.map(({ iv }) => web.fromBase64(iv).length)).toEqual([12, 12, 12])
})

test('a backup code is sixteen random hexadecimal digits in groups of four', () => {
  const codes = Array.from({ length: 50 }, web.makeBackupCode)

  for (const code of codes) expect(code).toMatch(/^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/)
  expect(new Set(codes).size).toBe(50)
})

test.for([
  '0123-4567-89ab-cdef',
  ' 0123-4567-89AB-CDEF\r\n',
  '0123456789abcdef',
  '0123–4567–89ab–cdef',
  '0123 4567 89ab cdef',
])('a backup code is understood when typed as «%s»', (typed) => {
  expect(web.readBackupCode(typed)).toBe('0123-4567-89ab-cdef')
})

test('a backup code of another form is taken as it was typed', () => {
  expect(web.readBackupCode('My-Own-Code')).toBe('My-Own-Code')
})

test('a backup code recovers nothing for another user, code or altered backup', async () => {
  const { backupCode, passkeyBackup } = await web.makeBackup('Datakey_123', 'jdoe', salts)
  const other = web.makeBackupCode()
  const swapped = { ...passkeyBackup, tag: (await web.makeBackup('x', 'jdoe', salts)).passkeyBackup.tag }

  expect(await web.recover(backupCode.toUpperCase(), 'jdoe', passkeyBackup, salts)).toBe('Datakey_123')
  await expect(web.recover(backupCode, 'jane', passkeyBackup, salts)).rejects.toThrow(web.CannotOpen)
  await expect(web.recover(other, 'jdoe', passkeyBackup, salts)).rejects.toThrow(web.CannotOpen)
  await expect(web.recover(backupCode, 'jdoe', swapped, salts)).rejects.toThrow(web.CannotOpen)
})

test('a room gets a key and an AI key, and no new legacy key', async () => {
  const key = await derivePasskeyKey()
  const entries = await web.roomEntries(key, 'my-room-AbC123', salts)

  expect(entries.map(({ key, keyType }) => [key, keyType])).toEqual([
    ['my-room-AbC123', 'room_key'],
    ['my-room-AbC123', 'room_ai'],
  ])
  const [own, ai] = await Promise.all(entries.map((entry) => web.unsealEntry(key, entry)))
  expect(ai).toBe(await web.roomAiKey(own!, 'my-room-AbC123', salts))
})

test('a room lets in who has a public key', async () => {
  const [{ publicKey, privateKey }, other] = await loadKeyPairs()
  const sealed = await web.inviteByPublicKey(publicKey, roomKey)

  expect(sealed).toMatchObject({ iv: '0', tag: '0' })
  expect(await web.openByPrivateKey(await web.importPrivateKey(privateKey), sealed)).toBe(roomKey)
  await expect(web.openByPrivateKey(await web.importPrivateKey(other.privateKey), sealed)).rejects.toThrow(
    web.CannotOpen,
  )
})

test('a room lets in who has the hash of an invitation', async () => {
  const hash = web.makeInvitationHash()
  const sealed = await web.inviteByHash(hash, roomKey, salts)

  expect(hash).toMatch(/^[0-9a-f]{32}$/)
  expect(await web.openByHash(hash, sealed, salts)).toBe(roomKey)
  await expect(web.openByHash(web.makeInvitationHash(), sealed, salts)).rejects.toThrow(web.CannotOpen)
})

test('a room is not entered with a key of a wrong length', async () => {
  const [{ publicKey, privateKey }] = await loadKeyPairs()
  const short = await web.wrap(await web.importPublicKey(publicKey), web.randomBytes(16))
  const sealed = { encryptedRoomKey: short, iv: '0', tag: '0' }

  await expect(web.inviteByPublicKey(publicKey, btoa('short'))).rejects.toThrow(web.Malformed)
  await expect(web.openByPrivateKey(await web.importPrivateKey(privateKey), sealed)).rejects.toThrow(web.Malformed)
})

const validatorOf = async (publicKey: string, inKeychain = publicKey) => ({
  publicKey,
  validator: web.writeSealed(await web.seal(await derivePasskeyKey(), inKeychain)),
})

test('unlocking tells a wrong passkey from a right one', async () => {
  const [{ publicKey }] = await loadKeyPairs()
  const validator = await validatorOf(publicKey)

  expect(await web.unlock('Datakey_123', validator, salts)).toBeDefined()
  expect(await web.unlock('Datakey_124', validator, salts)).toBeUndefined()
})

test('unlocking checks the passkey against an undivided keychain, too', async () => {
  const [{ publicKey, privateKey }, other] = await loadKeyPairs()
  const old = JSON.stringify({ username: 'jdoe', 'time-signature': 1, publicKey, privateKey, aiConvKey: {} })
  const validator = { publicKey, validator: web.writeSealed(await web.seal(await derivePasskeyKey(), old)) }

  expect(await web.unlock('Datakey_123', validator, salts)).toBeDefined()
  expect(await web.unlock('Datakey_124', validator, salts)).toBeUndefined()
  await expect(web.unlock('Datakey_123', { ...validator, publicKey: other.publicKey }, salts)).rejects.toThrow(
    web.Malformed,
  )
})

test("unlocking stops when the public key differs from the keychain's", async () => {
  const [mine, other] = await loadKeyPairs()

  await expect(web.unlock('Datakey_123', await validatorOf(other.publicKey, mine.publicKey), salts)).rejects.toThrow(
    web.Malformed,
  )
})

test('unlocking does not call a broken validator a wrong passkey', async () => {
  const validator = { publicKey: 'AAAA', validator: 'AAAA|AAAA' }

  await expect(web.unlock('Datakey_123', validator, salts)).rejects.toThrow(web.Malformed)
})

test('unlocking refuses a keychain value that was put into another slot', async () => {
  const [{ publicKey, privateKey }] = await loadKeyPairs()
  const key = await derivePasskeyKey()
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
