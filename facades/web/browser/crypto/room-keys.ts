import type { Salts } from './derive.ts'
import { Malformed, toBase64 } from './encoding.ts'
import { type KeychainEntry, unsealEntry } from './keychain.ts'
import { importKey, importPublicKey, keyBytes, makeKey, unwrap, wrap } from './keys.ts'
import { proveMemberKey } from './member-keys.ts'
import { type RoomKeys, resealRoomText } from './room-texts.ts'
import { roomEntries } from './rooms.ts'
import { CannotOpen, type Key, readSealed, seal, unsealBytes, writeSealed } from './seal.ts'
import type { KeychainKey } from './wrapping.ts'

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

/** A key as the service stores it, wrapped for the caller, with the previous key, which it encrypts. */
export interface StoredRoomKey {
  keyEpoch: number
  wrappedKey: string | null
  previousKey: string | null
}

/** The members who get a key, and the room that their proofs are for; without it there are none. */
interface KeyScope {
  slug?: string
  /** The ids of members whose public keys are not trusted. */
  refused?: ReadonlySet<string>
}

/**
 * Makes the next key of a room, and the request that gives it to the members. If the room shares its earlier keys, the
 * request includes the previous key, encrypted with the new one. Otherwise administrators encrypt the texts of the room
 * again, so that new members can read them. Members with an invalid or untrusted public key get no key. The others get a
 * proof for the remaining members that their public keys were trusted.
 */
export async function makeNextRoomKey(next: KeyRecipients, known: RoomKeys, { slug, refused }: KeyScope = {}) {
  const { keyEpoch, version, recipients, sharesEarlierKeys } = next
  const roomKey = makeKey()
  const trusted = recipients.filter(({ id }) => !refused?.has(id))
  const { keys: wrapped, unusable } = await wrapForAll(trusted, roomKey)
  const proven = trusted.map(
    async (person) => [person.id, slug && (await proveMemberKey(roomKey, slug, person))] as const,
  )
  const proofs = new Map(await Promise.all(proven))
  const keys = wrapped.map((key) => ({ ...key, proof: proofs.get(key.user) }))
  const left = [...unusable, ...(refused ?? [])]
  const withheld = left.length > 0 && { withheld: left }
  const extra = sharesEarlierKeys
    ? await sealPrevious(known.get(keyEpoch - 1), roomKey)
    : await resealTexts(next, known, roomKey)
  return { roomKey, request: { keyEpoch, recipients: version, keys, ...withheld, ...extra }, unusable }
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

/** Earlier data of the room, encrypted with its next key. */
interface ReencryptedData {
  previousKey?: string
  roomDescription?: string
  systemPrompt?: string
}

async function sealPrevious(before: string | undefined, roomKey: string): Promise<ReencryptedData> {
  if (before === undefined) throw new Malformed('The room shares its earlier keys, and the one before is missing.')
  return { previousKey: writeSealed(await seal(await importKey(roomKey), keyBytes(before))) }
}

async function resealTexts(
  { keyEpoch, role, roomDescription, systemPrompt }: KeyRecipients,
  known: RoomKeys,
  roomKey: string,
): Promise<ReencryptedData> {
  if (role !== 'admin') return {}
  const keys = new Map(known).set(keyEpoch, roomKey)
  const [description, prompt] = await Promise.all(
    [roomDescription, systemPrompt].map((text) => resealRoomText(keys, keyEpoch, text)),
  )
  return { ...(description && { roomDescription: description }), ...(prompt && { systemPrompt: prompt }) }
}

/** Decrypts the stored keys that are wrapped for the caller, and with each of them the previous key. */
export async function openStoredRoomKeys(
  privateKey: Key,
  stored: readonly StoredRoomKey[],
  known: RoomKeys = new Map(),
): Promise<RoomKeys> {
  const keys = new Map(known)
  const add = async (keyEpoch: number, open: () => Promise<string>) => {
    if (!keys.has(keyEpoch)) await open().then((key) => keys.set(keyEpoch, key), ignoreUnopenable)
  }
  for (const { keyEpoch, wrappedKey } of stored)
    if (wrappedKey !== null) await add(keyEpoch, async () => toKeyText(await unwrap(privateKey, wrappedKey)))
  for (const { keyEpoch, previousKey } of stored.toSorted((a, b) => b.keyEpoch - a.keyEpoch)) {
    const key = keys.get(keyEpoch)
    if (key !== undefined && previousKey !== null) await add(keyEpoch - 1, () => decryptPreviousKey(key, previousKey))
  }
  return keys
}

const decryptPreviousKey = async (key: string, sealed: string) =>
  toKeyText(await unsealBytes(await importKey(key), readSealed(sealed)))

function toKeyText(bytes: ReturnType<typeof keyBytes>): string {
  const text = toBase64(bytes)
  keyBytes(text)
  return text
}

/** Ignores a key that cannot be decrypted, so that the others still are. */
function ignoreUnopenable(error: unknown): void {
  if (!(error instanceof CannotOpen)) throw error
}

/** The keychain entries of several keys of a room. */
export async function roomKeychain(
  passkeyKey: KeychainKey,
  slug: string,
  salts: Pick<Salts, 'ai'>,
  keys: RoomKeys,
): Promise<KeychainEntry[]> {
  const entries = [...keys].map(([keyEpoch, key]) => roomEntries(passkeyKey, slug, salts, key, keyEpoch))
  return (await Promise.all(entries)).flat()
}

/** The keys of a room that a keychain has. One that a browser with another passphrase stored is left out. */
export async function roomKeysIn(
  passkeyKey: KeychainKey,
  slug: string,
  keychain: readonly KeychainEntry[],
): Promise<RoomKeys> {
  const keys = new Map<number, string>()
  for (const entry of keychain) {
    const keyEpoch = entry.keyType === 'room_key' ? readKeyEpoch(entry.key, slug) : undefined
    if (keyEpoch === undefined) continue
    await unsealEntry(passkeyKey, entry).then((key) => keys.set(keyEpoch, key), ignoreUnopenable)
  }
  return keys
}

/** Reads the number of the key from the name of a keychain entry; undefined if the entry belongs to another room. */
function readKeyEpoch(name: string, slug: string): number | undefined {
  if (name === slug) return 0
  const [, digits] = /:([1-9]\d*)$/.exec(name) ?? []
  return digits !== undefined && name === `${slug}:${digits}` ? Number(digits) : undefined
}
