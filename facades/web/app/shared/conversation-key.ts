import {
  importKey,
  type Key,
  type KeychainEntry,
  readSealed,
  seal,
  unseal,
  unsealEntry,
  writeSealed,
} from '../../browser/crypto.ts'
import { find } from '../../browser/keystore.ts'
import type { Connection } from './api/client.ts'

/** The browser has no key of this person: they must enter their passkey first. */
export class KeysLocked extends Error {
  override readonly name = 'Locked'
}

/** Opens and seals the texts of private conversations. */
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

/** The key of the passkey, which opens the keychain, where this browser keeps it. */
export const findPasskeyKey = ({ userinfo }: Connection): Promise<Key | undefined> =>
  find(`${userinfo?.id}-${userinfo?.hash}`)

/** The key of all private conversations, from the keychain. */
export async function openConversationKey(
  passkeyKey: Key,
  keychain: readonly KeychainEntry[],
): Promise<ConversationKey | undefined> {
  const entry = keychain.find(({ keyType }) => keyType === 'ai_conv')
  if (!entry) return undefined
  return new ConversationKey(await importKey(await unsealEntry(passkeyKey, entry)))
}
