import { importKey } from './keys.ts'
import { readSealed, type Sealed, seal, unseal, writeSealed } from './seal.ts'

/** Encrypts the content of a message: `iv|tag|ciphertext`. */
export const sealMessage = async (roomKey: string, text: string) =>
  writeSealed(await seal(await importKey(roomKey), text))

export const openMessage = async (roomKey: string, content: string) =>
  unseal(await importKey(roomKey), readSealed(content))

/** Encrypts the description or the system prompt of a room, in the JSON that older front ends read. */
export async function sealRoomText(roomKey: string, text: string): Promise<string> {
  const { ciphertext, iv, tag } = await seal(await importKey(roomKey), text)
  return JSON.stringify({ ciphertext, iv, tag })
}

/** Opens a description or system prompt in either form. */
export async function openRoomText(roomKey: string, sealed: string): Promise<string> {
  const isJson = sealed.startsWith('{')
  return unseal(await importKey(roomKey), isJson ? (JSON.parse(sealed) as Sealed) : readSealed(sealed))
}
