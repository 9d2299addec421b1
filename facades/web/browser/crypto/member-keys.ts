import { toBase64, utf8 } from './encoding.ts'
import { type KeychainEntry, sealEntry, unsealEntry } from './keychain.ts'
import { keyBytes } from './keys.ts'
import type { RoomKeys } from './room-texts.ts'
import type { Key } from './seal.ts'
import type { KeychainKey } from './wrapping.ts'

/** The public key of a person, as the service returns it. */
export interface PersonKey {
  /** The id of the person. */
  id: string
  publicKey: string
}

/** The public key of a member, with the proof that somebody with a key of the room gave them that key. */
export interface MemberKey extends PersonKey {
  proof: string | null
  /** The number of the room key that the proof was made with. */
  proofEpoch: number | null
}

/**
 * The name of the keychain entry that pins the public key of a person. It has the form of the names of later room keys,
 * which legacy front ends ignore, and no slug is `pin`.
 */
const pinPrefix = 'pin:'

/** The digests of the pinned public keys by the ids of their people. */
export type KeyPins = ReadonlyMap<string, string>

/** The digest is bound to the person, so that no entry can stand in for another one. It has the size of a key. */
async function digestPersonKey({ id, publicKey }: PersonKey): Promise<string> {
  const text = `public key of a person\n${id}\n${publicKey}`
  return toBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', utf8(text))))
}

/** The name of the entry that pins the public key of a person. */
export const getPinSlot = (id: string) => ({ key: `${pinPrefix}${id}`, keyType: 'room_key' }) as const

/** Makes the keychain entry that pins the public key of a person, and returns it with the pinned digest. */
export async function pinPersonKey(passkeyKey: KeychainKey, person: PersonKey) {
  const digest = await digestPersonKey(person)
  return { id: person.id, digest, entry: await sealEntry(passkeyKey, { ...getPinSlot(person.id), value: digest }) }
}

/**
 * Reads the pins of a keychain. An entry that somebody has altered fits no public key. Throws if another browser has
 * wrapped the keychain anew, because all pins would look altered.
 */
export async function readKeyPins(passkeyKey: KeychainKey, keychain: readonly KeychainEntry[]): Promise<KeyPins> {
  const ownKey = keychain.find(({ keyType }) => keyType === 'public_key')
  if (ownKey) await unsealEntry(passkeyKey, ownKey)
  const entries = keychain.filter(({ key, keyType }) => keyType === 'room_key' && key.startsWith(pinPrefix))
  const readPin = async (entry: KeychainEntry) => {
    const digest = await unsealEntry(passkeyKey, entry).catch(() => '')
    return [entry.key.slice(pinPrefix.length), digest] as const
  }
  return new Map(await Promise.all(entries.map(readPin)))
}

/** Compares the public key of a person with the pinned one; undefined if none is pinned. */
export async function matchesPin(pins: KeyPins, person: PersonKey): Promise<boolean | undefined> {
  const digest = pins.get(person.id)
  return digest === undefined ? undefined : digest === (await digestPersonKey(person))
}

/**
 * Proves to other members that whoever has this key pair was given a key of the room. The service has no key of the
 * room, so it cannot make one for another key pair.
 */
export async function proveMemberKey(roomKey: string, slug: string, person: PersonKey): Promise<string> {
  const signature = await crypto.subtle.sign('HMAC', await deriveProofKey(roomKey), toProvenBytes(slug, person))
  return toBase64(new Uint8Array(signature))
}

/** Returns true if one of the room keys made the proof of a member. */
export async function isMemberProven(keys: RoomKeys, slug: string, member: MemberKey): Promise<boolean> {
  const { proof, proofEpoch } = member
  const roomKey = proofEpoch === null ? undefined : keys.get(proofEpoch)
  return proof !== null && roomKey !== undefined && proof === (await proveMemberKey(roomKey, slug, member))
}

const toProvenBytes = (slug: string, { id, publicKey }: PersonKey) => utf8(`${slug}\n${id}\n${publicKey}`)

async function deriveProofKey(roomKey: string): Promise<Key> {
  const base = await crypto.subtle.importKey('raw', keyBytes(roomKey), 'HKDF', false, ['deriveKey'])
  const rule = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8('proof of a member') }
  return crypto.subtle.deriveKey(rule, base, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign'])
}
