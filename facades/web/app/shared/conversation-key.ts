import {
  importKey,
  type Key,
  type KeychainEntry,
  type KeychainKey,
  readSealed,
  readWrapping,
  seal,
  unseal,
  unsealEntry,
  wrappingOf,
  writeSealed,
} from '../../browser/crypto/own.ts'
import { findKey, forgetKeys, KeyStoreFailure } from '../../browser/keystore.ts'
import type { Connection } from './api/client.ts'

export { KeyStoreFailure }

/** This browser has no key of the person, who must enter their passkey first. */
export class KeysLocked extends Error {
  override readonly name = 'KeysLocked'
}

/** Encrypts and decrypts the texts of private conversations. */
export class ConversationKey {
  readonly #key: Key

  constructor(key: Key) {
    this.#key = key
  }

  async seal(plain: string): Promise<string> {
    return writeSealed(await seal(this.#key, plain))
  }

  open(sealed: string): Promise<string> {
    return unseal(this.#key, readSealed(sealed))
  }
}

/** Returns the key that is derived from the passkey and decrypts the keychain, if this browser stores it. */
export const findPasskeyKey = (connection: Connection): Promise<KeychainKey | undefined> =>
  findKey(getKeyOwner(connection))

/** Identifies the owner of the key in this browser. */
export const getKeyOwner = ({ userinfo }: Connection) => `${userinfo?.id}-${userinfo?.hash}`

/** Decrypts the key of all private conversations from the keychain; throws if the stored key is not the right one. */
export async function openConversationKey(
  passkeyKey: KeychainKey,
  keychain: readonly KeychainEntry[],
): Promise<ConversationKey | undefined> {
  const entry = keychain.find(({ keyType }) => keyType === 'ai_conv')
  if (!entry) return undefined
  if (wrappingOf(passkeyKey) !== readWrapping(entry.value)) {
    // Another browser has wrapped the keychain anew since, so the passkey is asked for.
    await forgetKeys()
    return undefined
  }
  try {
    return new ConversationKey(await importKey(await unsealEntry(passkeyKey, entry)))
  } catch (error) {
    throw new KeyStoreFailure(error)
  }
}
