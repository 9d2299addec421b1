import { Malformed } from './encoding.ts'
import { importKey } from './keys.ts'
import { CannotOpen, readSealed, type Sealed, seal, unseal, writeSealed } from './seal.ts'

/** The keys of a room by their numbers, each in base64. */
export type RoomKeys = ReadonlyMap<number, string>

/** Encrypts the content of a message: `iv|tag|ciphertext`. */
export const sealMessage = async (roomKey: string, text: string) =>
  writeSealed(await seal(await importKey(roomKey), text))

export const openMessage = async (roomKey: string, content: string) =>
  unseal(await importKey(roomKey), readSealed(content))

/** The bytes of a reaction before it is encrypted. */
const REACTION_BYTES = 64

/**
 * Encrypts a reaction together with the id of its message, so that it belongs to no other. All are equally long, because
 * their length would tell which one it is.
 */
export async function sealReaction(roomKey: string, message: string, reaction: string): Promise<string> {
  const text = JSON.stringify([message, reaction])
  const bytes = new TextEncoder().encode(text).length
  return sealMessage(roomKey, text + ' '.repeat(Math.max(0, REACTION_BYTES - bytes)))
}

/** Opens a reaction; throws if it was made for another message. */
export async function openReaction(roomKey: string, message: string, content: string): Promise<string> {
  const opened = parse(await openMessage(roomKey, content))
  const [of, reaction] = Array.isArray(opened) ? opened : []
  if (of !== message || typeof reaction !== 'string') throw new Malformed('This is no reaction to the message.')
  return reaction
}

/**
 * Encrypts the description or the system prompt of a room, as the JSON that older front ends read. The number of a
 * later key is an additional member.
 */
export async function sealRoomText(roomKey: string, text: string, keyEpoch = 0): Promise<string> {
  const { ciphertext, iv, tag } = await seal(await importKey(roomKey), text)
  return JSON.stringify({ ciphertext, iv, tag, ...(keyEpoch > 0 && { keyEpoch }) })
}

/** Opens a description or system prompt in either form, with the key that it names. */
export async function openRoomText(keys: RoomKeys, sealed: string): Promise<string> {
  const { keyEpoch, ...text } = readRoomText(sealed)
  const key = keys.get(keyEpoch)
  if (key === undefined) throw new CannotOpen(`There is no key with the number ${keyEpoch}.`)
  return unseal(await importKey(key), text)
}

function readRoomText(sealed: string): Sealed & { keyEpoch: number } {
  if (!sealed.startsWith('{')) return { ...readSealed(sealed), keyEpoch: 0 }
  const { ciphertext, iv, tag, keyEpoch = 0 } = parse(sealed)
  if (
    typeof ciphertext !== 'string' ||
    typeof iv !== 'string' ||
    typeof tag !== 'string' ||
    !Number.isInteger(keyEpoch)
  )
    throw new Malformed('This is not a sealed text.')
  return { ciphertext, iv, tag, keyEpoch: Number(keyEpoch) }
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Malformed('This is not a sealed text.', { cause })
  }
}

/** Encrypts a text again with the key of this number. Returns undefined without that key or without a readable text. */
export async function resealRoomText(keys: RoomKeys, keyEpoch: number, sealed: string | null) {
  const key = keys.get(keyEpoch)
  const text = sealed === null ? undefined : await openRoomText(keys, sealed).catch(() => undefined)
  return key === undefined || text === undefined ? undefined : sealRoomText(key, text, keyEpoch)
}
