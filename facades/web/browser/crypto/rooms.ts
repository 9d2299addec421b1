import { invitationKey, roomAiKey, type Salts } from './derive.ts'
import { randomBytes, toBase64, toHex } from './encoding.ts'
import { type KeychainEntry, sealEntry } from './keychain.ts'
import { importPublicKey, keyBytes, makeKey, unwrap, wrap } from './keys.ts'
import { type Key, seal, unsealBytes } from './seal.ts'

/** A room key in an invitation. IV and tag are `0` if it is wrapped with a public key. */
export interface SealedRoomKey {
  encryptedRoomKey: string
  iv: string
  tag: string
}

/**
 * The name of a room's keychain entries. The first key has the slug alone, as ever; a later one its number behind it, so
 * that older front ends, which look for the slug, overlook it. No slug has a colon.
 */
export const roomKeyName = (slug: string, keyEpoch: number) => (keyEpoch === 0 ? slug : `${slug}:${keyEpoch}`)

/** The keychain entries of a room for its creator or a new member; the legacy key is not among them. */
export async function roomEntries(
  passkeyKey: Key,
  slug: string,
  salts: Pick<Salts, 'ai'>,
  roomKey = makeKey(),
  keyEpoch = 0,
): Promise<KeychainEntry[]> {
  const aiKey = await roomAiKey(roomKey, slug, salts)
  const key = roomKeyName(slug, keyEpoch)
  return Promise.all([
    sealEntry(passkeyKey, { key, keyType: 'room_key', value: roomKey }),
    sealEntry(passkeyKey, { key, keyType: 'room_ai', value: aiKey }),
  ])
}

export async function inviteByPublicKey(publicKey: string, roomKey: string): Promise<SealedRoomKey> {
  return { encryptedRoomKey: await wrap(await importPublicKey(publicKey), keyBytes(roomKey)), iv: '0', tag: '0' }
}

export async function openByPrivateKey(privateKey: Key, { encryptedRoomKey }: SealedRoomKey): Promise<string> {
  return asRoomKey(toBase64(await unwrap(privateKey, encryptedRoomKey)))
}

/** The secret of an invitation by mail; put it into the fragment of the link, which browsers send to no server. */
export const makeInvitationHash = () => toHex(randomBytes(16))

type InvitationSalt = Pick<Salts, 'invitation'>

export async function inviteByHash(hash: string, roomKey: string, salts: InvitationSalt): Promise<SealedRoomKey> {
  const { ciphertext, iv, tag } = await seal(await invitationKey(hash, salts), keyBytes(roomKey))
  return { encryptedRoomKey: ciphertext, iv, tag }
}

export async function openByHash(hash: string, sealed: SealedRoomKey, salts: InvitationSalt): Promise<string> {
  const { encryptedRoomKey: ciphertext, iv, tag } = sealed
  return asRoomKey(toBase64(await unsealBytes(await invitationKey(hash, salts), { ciphertext, iv, tag })))
}

function asRoomKey(text: string): string {
  keyBytes(text)
  return text
}
