import {
  deriveKeychainKey,
  fits,
  hasForm,
  type KeychainForm,
  type KeychainKey,
  makeWrapping,
  type RightPasskey,
  rewrapEntries,
  type Salts,
  tryPasskey,
  wrappingOf,
} from '../../browser/crypto/own.ts'
import { api, type Connection } from './api/client.ts'
import { InputError } from './api/error-text.ts'
import { t } from './text/labels.ts'

/** Returns what the service requires of a passphrase, and the form in which it wants a keychain. */
export function readPassphraseRules({ configs: { security } }: Connection) {
  return {
    canPaste: security?.['passkeyAllowPaste'] === true,
    isRestricted: security?.['passkeyRestrictCharacters'] === true,
    form: security?.['keychainForm'] === 'salted' ? ('salted' as const) : ('reference' as const),
  }
}

/** Returns the person who owns the keys, and the salts; throws where the browser cannot use keys. */
export function readKeyOwner({ salts, userinfo }: Connection) {
  if (!crypto.subtle) throw new InputError(t('page.insecure'))
  if (!salts || !userinfo) throw new InputError(t('page.error'))
  return { userinfo, salts: salts as unknown as Salts }
}

/** Lists what others know of the person, and so is no passphrase. */
export function listKnownTexts({ userinfo }: Connection): string[] {
  const { brand = '' } = document.documentElement.dataset
  return userinfo ? [userinfo.username, userinfo.email, userinfo.name, brand] : [brand]
}

/** Throws if the passphrase does not open the keychain. */
export async function verifyPassphrase(connection: Connection, typed: string): Promise<RightPasskey> {
  const { salts } = readKeyOwner(connection)
  const right = await tryPasskey(typed, await readValidator(), salts)
  if (!right) throw new InputError(t('page.unlock.wrong'))
  return right
}

async function readValidator() {
  const { publicKey, validator } = (await api.userKeychainValues.validator.query()).meta
  return { publicKey: publicKey ?? '', validator }
}

/** Returns true if the service stores the keychain with this key. */
export const isStored = async (key: KeychainKey): Promise<boolean> => fits(key, await readValidator())

/** Wraps the keychain in a form, unless it has it, and returns its key. */
export async function rewrapKeychain(
  connection: Connection,
  { passkey, key }: RightPasskey,
  form: KeychainForm,
): Promise<KeychainKey> {
  if (hasForm(wrappingOf(key), form)) return key
  const { items } = await api.userKeychainValues.list.query({})
  // A keychain that an older front end has not divided yet is left to it.
  if (items.length === 0) return key
  const next = await deriveKeychainKey(passkey, makeWrapping(form), readKeyOwner(connection).salts)
  await api.keychain.rewrap.mutate({ entries: await rewrapEntries(key, next, items) })
  return next
}
