import type { Salts } from './derive.ts'
import { Malformed, toBase64 } from './encoding.ts'
import { type KeychainEntry, unsealEntry } from './keychain.ts'
import { importKey, importPublicKey, keyBytes, makeKey, unwrap, wrap } from './keys.ts'
import { type RoomKeys, resealRoomText } from './room-texts.ts'
import { roomEntries } from './rooms.ts'
import { CannotOpen, type Key, readSealed, seal, unsealBytes, writeSealed } from './seal.ts'

/** The recipients of the next key, as the service returns them. */
export interface KeyRecipients {
  keyEpoch: number
  version: string
  recipients: readonly { id: string; publicKey: string }[]
  sharesEarlierKeys: boolean
  /** Role of the caller in the room. */
  role: string
  /** Ciphertexts of the texts. */
  roomDescription: string | null
  systemPrompt: string | null
}

/** A key as the service stores it: wrapped for the caller, and the key before it, encrypted with it. */
export interface StoredRoomKey {
  keyEpoch: number
  wrappedKey: string | null
  previousKey: string | null
}

/**
 * Makes the next key of a room, and the request that gives it to the members. Where the room shares its earlier keys the one
 * before goes along, encrypted with the new one; elsewhere administrators encrypt the texts of the room anew, so that new members
 * can read them. A member whose public key is none gets no key, and is named.
 */
export async function makeNextRoomKey(next: KeyRecipients, known: RoomKeys) {
  const { keyEpoch, version, recipients, sharesEarlierKeys } = next
  const roomKey = makeKey()
  const { keys, unusable } = await wrapForAll(recipients, roomKey)
  const extra = sharesEarlierKeys
    ? await sealPrevious(known.get(keyEpoch - 1), roomKey)
    : await resealTexts(next, known, roomKey)
  return { roomKey, request: { keyEpoch, recipients: version, keys, ...extra }, unusable }
}

async function wrapForAll(recipients: KeyRecipients['recipients'], roomKey: string) {
  const unusable: string[] = []
  const keys: { user: string; wrappedKey: string }[] = []
  for (const { id, publicKey } of recipients) {
    const key = await importPublicKey(publicKey).catch(() => undefined)
    if (key) keys.push({ user: id, wrappedKey: await wrap(key, keyBytes(roomKey)) })
    else unusable.push(id)
  }
  return { keys, unusable }
}

/** Earlier data, encrypted with the next key. */
interface EncryptedAnew {
  previousKey?: string
  roomDescription?: string
  systemPrompt?: string
}

async function sealPrevious(before: string | undefined, roomKey: string): Promise<EncryptedAnew> {
  if (before === undefined) throw new Malformed('The room shares its earlier keys, and the one before is missing.')
  return { previousKey: writeSealed(await seal(await importKey(roomKey), keyBytes(before))) }
}

async function resealTexts(
  { keyEpoch, role, roomDescription, systemPrompt }: KeyRecipients,
  known: RoomKeys,
  roomKey: string,
): Promise<EncryptedAnew> {
  if (role !== 'admin') return {}
  const keys = new Map(known).set(keyEpoch, roomKey)
  const [description, prompt] = await Promise.all(
    [roomDescription, systemPrompt].map((text) => resealRoomText(keys, keyEpoch, text)),
  )
  return { ...(description && { roomDescription: description }), ...(prompt && { systemPrompt: prompt }) }
}

/** Opens the stored keys that are wrapped for the caller, and from each the previous one. */
export async function openStoredRoomKeys(
  privateKey: Key,
  stored: readonly StoredRoomKey[],
  known: RoomKeys = new Map(),
): Promise<RoomKeys> {
  const keys = new Map(known)
  const add = async (keyEpoch: number, opened: () => Promise<string>) => {
    if (!keys.has(keyEpoch)) await opened().then((key) => keys.set(keyEpoch, key), passUnlessClosed)
  }
  for (const { keyEpoch, wrappedKey } of stored)
    if (wrappedKey !== null) await add(keyEpoch, async () => asKey(await unwrap(privateKey, wrappedKey)))
  for (const { keyEpoch, previousKey } of stored.toSorted((a, b) => b.keyEpoch - a.keyEpoch)) {
    const key = keys.get(keyEpoch)
    if (key !== undefined && previousKey !== null) await add(keyEpoch - 1, () => openWith(key, previousKey))
  }
  return keys
}

const openWith = async (key: string, sealed: string) =>
  asKey(await unsealBytes(await importKey(key), readSealed(sealed)))

function asKey(bytes: ReturnType<typeof keyBytes>): string {
  const text = toBase64(bytes)
  keyBytes(text)
  return text
}

/** Ignores a key that cannot be opened, so that the others can be. */
function passUnlessClosed(error: unknown): void {
  if (!(error instanceof CannotOpen)) throw error
}

/** The keychain entries of several keys of a room. */
export async function roomKeychain(
  passkeyKey: Key,
  slug: string,
  salts: Pick<Salts, 'ai'>,
  keys: RoomKeys,
): Promise<KeychainEntry[]> {
  const entries = [...keys].map(([keyEpoch, key]) => roomEntries(passkeyKey, slug, salts, key, keyEpoch))
  return (await Promise.all(entries)).flat()
}

/** The keys of a room that a keychain has. */
export async function roomKeysIn(passkeyKey: Key, slug: string, keychain: readonly KeychainEntry[]): Promise<RoomKeys> {
  const keys = new Map<number, string>()
  for (const entry of keychain) {
    const keyEpoch = entry.keyType === 'room_key' ? epochOf(entry.key, slug) : undefined
    if (keyEpoch !== undefined) keys.set(keyEpoch, await unsealEntry(passkeyKey, entry))
  }
  return keys
}

/** The number in the name of a keychain entry; nothing where it is of another room. */
function epochOf(name: string, slug: string): number | undefined {
  if (name === slug) return 0
  const [, digits] = /:([1-9]\d*)$/.exec(name) ?? []
  return digits !== undefined && name === `${slug}:${digits}` ? Number(digits) : undefined
}
