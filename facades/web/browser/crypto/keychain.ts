import { Malformed } from './encoding.ts'
import { importPrivateKey, importPublicKey, keyBytes, makeKey, makeKeyPair } from './keys.ts'
import { CannotOpen, type Key, readSealed, seal, unseal, writeSealed } from './seal.ts'

export type KeyType = 'private_key' | 'public_key' | 'ai_conv' | 'room_key' | 'room_ai' | 'room_ai_legacy'

/** One entry of a keychain. Its value is sealed wherever it is stored or sent. */
export interface KeychainEntry {
  key: string
  keyType: KeyType
  value: string
}

/** Seals an entry whose value is the plain key in base64. */
export async function sealEntry(passkeyKey: Key, { key, keyType, value }: KeychainEntry): Promise<KeychainEntry> {
  return { key, keyType, value: writeSealed(await seal(passkeyKey, value)) }
}

/**
 * Decrypts an entry to its plain key. The format does not bind a value to its slot, so this checks that the key is at
 * least of the slot's kind.
 */
export async function unsealEntry(passkeyKey: Key, { keyType, value }: KeychainEntry): Promise<string> {
  const plain = await unseal(passkeyKey, readSealed(value))
  if (keyType === 'public_key') await importPublicKey(plain)
  else if (keyType === 'private_key') await importPrivateKey(plain)
  else keyBytes(plain)
  return plain
}

/** The keys of a new account: an RSA pair, and one key for all private conversations. */
export async function makeKeychain(passkeyKey: Key): Promise<{ publicKey: string; keychain: KeychainEntry[] }> {
  const { publicKey, privateKey } = await makeKeyPair()
  const plain: KeychainEntry[] = [
    { key: 'privateKey', keyType: 'private_key', value: privateKey },
    { key: 'publicKey', keyType: 'public_key', value: publicKey },
    { key: 'aiConvKey', keyType: 'ai_conv', value: makeKey() },
  ]
  return { publicKey, keychain: await Promise.all(plain.map((entry) => sealEntry(passkeyKey, entry))) }
}

/** The caller's public key twice: as the service stores it, and as the keychain holds it. */
export interface Validator {
  publicKey: string
  validator: string
}

/** Whether this is the key of the right passkey. Throws when the service shows another public key than the keychain's. */
export async function fits(passkeyKey: Key, { publicKey, validator }: Validator): Promise<boolean> {
  const sealed = readSealed(validator)
  try {
    if (publicKeyIn(await unseal(passkeyKey, sealed)) === publicKey) return true
  } catch (error) {
    if (error instanceof CannotOpen) return false
    throw error
  }
  throw new Malformed('The public key of the account is not the one in its keychain.')
}

/** The public key in a validator: its value, or a member of the JSON object that an undivided old keychain is. */
function publicKeyIn(plain: string): unknown {
  return plain.startsWith('{') ? (JSON.parse(plain) as { publicKey?: unknown }).publicKey : plain
}
