import { invitationKey, roomAiKey, type Salts } from './derive.ts'
import { fromBase64, Malformed, randomBytes, toBase64, toHex, utf8 } from './encoding.ts'
import { type KeychainEntry, sealEntry } from './keychain.ts'
import { importPublicKey, keyBytes, makeKey, unwrap, wrap } from './keys.ts'
import { type Key, readSealed, seal, unsealBytes } from './seal.ts'
import type { KeychainKey } from './wrapping.ts'

/** A room key in an invitation. IV and tag are `0` if it is wrapped with a public key. */
export interface SealedRoomKey {
  encryptedRoomKey: string
  iv: string
  tag: string
}

/**
 * The name of a room's keychain entries. Entries of the first key are named by the slug. Names of later keys end with
 * their number, so that older front ends, which look for the slug, ignore them. No slug contains a colon.
 */
export const roomKeyName = (slug: string, keyEpoch: number) => (keyEpoch === 0 ? slug : `${slug}:${keyEpoch}`)

/** The keychain entries of a room for its creator or a new member; the legacy key is not among them. */
export async function roomEntries(
  passkeyKey: KeychainKey,
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
  return assertRoomKey(toBase64(await unwrap(privateKey, encryptedRoomKey)))
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
  return assertRoomKey(toBase64(await unsealBytes(await invitationKey(hash, salts), { ciphertext, iv, tag })))
}

function assertRoomKey(text: string): string {
  keyBytes(text)
  return text
}

/** The secret of an invitation link stays in the fragment; the service only gets a hash of the derived proof. */
export interface InvitationSecret {
  secret: string
  proofHash: string
}

export async function makeInvitationSecret(): Promise<InvitationSecret> {
  const secret = makeInvitationHash()
  const hash = toBase64(await sha256(await invitationProof(secret)))
  return { secret, proofHash: hash.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '') }
}

/** Shows the service that somebody has the link; the secret cannot be computed from it. */
export const invitationProof = async (secret: string) => toHex(await sha256(`invitation_proof ${secret}`))

const sha256 = async (text: string) => new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text)))

/** Builds the fragment of an invitation link, which browsers send to no server. */
export const invitationFragment = (id: string, secret: string) => `#${id}.${secret}`

export function readInvitationFragment(fragment: string): { id: string; secret: string } {
  const [, id, secret] = /^#(invitation-[1-9]\d{0,9})\.([0-9a-f]{32})$/.exec(fragment) ?? []
  if (!id || !secret) throw new Malformed('This is not the link of an invitation.')
  return { id, secret }
}

/** Writes the room key of an invitation as text: one part if a public key wraps it, else `iv|tag|ciphertext`. */
export const writeSealedRoomKey = ({ encryptedRoomKey, iv, tag }: SealedRoomKey) =>
  iv === '0' ? encryptedRoomKey : [iv, tag, encryptedRoomKey].join('|')

export function readSealedRoomKey(text: string): SealedRoomKey {
  if (!text.includes('|')) {
    fromBase64(text)
    return { encryptedRoomKey: text, iv: '0', tag: '0' }
  }
  const { ciphertext, iv, tag } = readSealed(text)
  return { encryptedRoomKey: ciphertext, iv, tag }
}
