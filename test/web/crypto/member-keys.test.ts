import { expect, test } from 'vitest'
import * as web from '../../../facades/web/browser/crypto.ts'
import { loadKeyPairs } from '../../kit/web/crypto.ts'

const SALTS = { userdata: 'salt', passkey: 'salt', backup: 'salt', invitation: 'salt', ai: 'salt' }
const passkeyKey = await web.passkeyKey('Passkey_1', SALTS)
const [mine, other] = await loadKeyPairs()
const ben = { id: '7', publicKey: mine.publicKey }

test('a pin fits the public key of one person alone', async () => {
  const { entry } = await web.pinPersonKey(passkeyKey, ben)
  const pins = await web.readKeyPins(passkeyKey, [entry])

  expect(await web.matchesPin(pins, ben)).toBe(true)
  expect(await web.matchesPin(pins, { ...ben, publicKey: other.publicKey })).toBe(false)
  expect(await web.matchesPin(pins, { ...ben, id: '8' })).toBeUndefined()
})

test('a pin that was moved to another person, altered or exchanged fits nobody', async () => {
  const { entry } = await web.pinPersonKey(passkeyKey, ben)
  const moved = { ...entry, key: 'pin:8' }
  const altered = { ...entry, value: entry.value.replace(/^./, (first) => (first === 'A' ? 'B' : 'A')) }
  const roomKey = await web.sealEntry(passkeyKey, { ...entry, value: web.makeKey() })

  expect(await web.matchesPin(await web.readKeyPins(passkeyKey, [moved]), { ...ben, id: '8' })).toBe(false)
  for (const forged of [altered, roomKey])
    expect(await web.matchesPin(await web.readKeyPins(passkeyKey, [forged]), ben)).toBe(false)
})

test.each([
  ['a new wrapping', 'Passkey_1', 'salted'],
  ['another passphrase', 'Passkey_2', 'reference'],
] as const)('the key from before %s reads no pins, rather than false ones', async (_, passkey, form) => {
  const next = await web.deriveKeychainKey(passkey, web.makeWrapping(form), SALTS)
  const own = { key: 'publicKey', keyType: 'public_key', value: mine.publicKey } as const
  const keychain = [await web.sealEntry(next, own), (await web.pinPersonKey(next, ben)).entry]

  await expect(web.readKeyPins(passkeyKey, keychain)).rejects.toThrow(web.CannotOpen)
  expect(await web.matchesPin(await web.readKeyPins(next, keychain), ben)).toBe(true)
})

test('a room opens although a browser with another passphrase stored one of its keys', async () => {
  const other = await web.passkeyKey('Passkey_2', SALTS)
  const slot = { key: 'chess-Ab3dEf6hIj', keyType: 'room_key' } as const
  const key = web.makeKey()
  const keychain = [
    await web.sealEntry(passkeyKey, { ...slot, value: key }),
    await web.sealEntry(other, { ...slot, key: `${slot.key}:1`, value: web.makeKey() }),
  ]

  expect(await web.roomKeysIn(passkeyKey, slot.key, keychain)).toEqual(new Map([[0, key]]))
})

test('pins are entries as other front ends know them, and no keys of rooms', async () => {
  const { entry } = await web.pinPersonKey(passkeyKey, ben)

  expect(entry).toMatchObject({ key: 'pin:7', keyType: 'room_key' })
  expect(web.keyBytes(await web.unsealEntry(passkeyKey, entry))).toHaveLength(32)
  for (const slug of ['chess-Ab3dEf6hIj', 'pin-Ab3dEf6hIj'])
    expect(await web.roomKeysIn(passkeyKey, slug, [entry])).toEqual(new Map())
})

test('the proof of a member holds for one room, person and key pair', async () => {
  const keys = new Map([
    [0, web.makeKey()],
    [1, web.makeKey()],
  ])
  const proof = await web.proveMemberKey(keys.get(1)!, 'chess', ben)
  const member = { ...ben, proof, proofEpoch: 1 }

  expect(await web.isMemberProven(keys, 'chess', member)).toBe(true)
  expect(await web.isMemberProven(keys, 'go', member)).toBe(false)
  for (const change of [{ id: '8' }, { publicKey: other.publicKey }, { proofEpoch: 0 }, { proofEpoch: 2 }])
    expect(await web.isMemberProven(keys, 'chess', { ...member, ...change })).toBe(false)
  for (const change of [{ proof: null }, { proofEpoch: null }])
    expect(await web.isMemberProven(keys, 'chess', { ...member, ...change })).toBe(false)
})

test('members whose public key is refused get no next key of the room', async () => {
  const room = {
    keyEpoch: 1,
    version: 'v',
    sharesEarlierKeys: true,
    role: 'editor',
    roomDescription: null,
    systemPrompt: null,
  }
  const recipients = [ben, { id: '8', publicKey: other.publicKey }]
  const known = new Map([[0, web.makeKey()]])

  const { roomKey, request } = await web.makeNextRoomKey({ ...room, recipients }, known, {
    slug: 'chess',
    refused: new Set(['8']),
  })

  expect(request).toMatchObject({ withheld: ['8'] })
  expect(request.keys.map(({ user }) => user)).toEqual(['7'])
  const member = { ...ben, proof: request.keys[0]?.proof ?? null, proofEpoch: 1 }
  expect(await web.isMemberProven(new Map([[1, roomKey]]), 'chess', member)).toBe(true)
})
