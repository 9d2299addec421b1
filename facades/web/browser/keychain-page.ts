import type { Connection } from './boot.ts'
import type { Salts } from './crypto/derive.ts'
import {
  deriveKeychainKey,
  hasForm,
  type KeychainEntry,
  type KeychainForm,
  type KeychainKey,
  makeWrapping,
  type RightPasskey,
  rewrapEntries,
  tryPasskey,
  type Validator,
  wrappingOf,
} from './crypto.ts'
import { PageError } from './errors.ts'
import { api, sendRequest } from './server.ts'

/** Tries a passkey on the caller's keychain. Returns undefined if it is wrong. */
export async function unlockKeychain(connection: Connection, typed: string): Promise<RightPasskey | undefined> {
  if (!crypto.subtle) throw new PageError('page.insecure')
  const { meta } = await sendRequest<{ meta: Validator }>('GET', `${api}/user-keychain-values/actions/validator`)
  return tryPasskey(typed, meta, getSalts(connection))
}

/**
 * Wraps the keychain in the form that the service wants, and returns its key. If that fails, the keychain stays as it is
 * until the next unlocking, as it opens in both forms.
 */
export async function updateForm(connection: Connection, right: RightPasskey): Promise<KeychainKey> {
  try {
    const { form } = await sendRequest<{ form: KeychainForm }>('GET', '/req/profile/keychain-form')
    return await rewrapKeychain(connection, right, form)
  } catch {
    return right.key
  }
}

/** Wraps the keychain in a form, unless it has it, and returns its key. */
export async function rewrapKeychain(
  connection: Connection,
  { passkey, key }: RightPasskey,
  form: KeychainForm,
): Promise<KeychainKey> {
  if (hasForm(wrappingOf(key), form)) return key
  const { data } = await sendRequest<{ data: { attributes: KeychainEntry }[] }>('GET', `${api}/user-keychain-values`)
  // A keychain that an older front end has not divided yet is left to it.
  if (data.length === 0) return key
  const next = await deriveKeychainKey(passkey, makeWrapping(form), getSalts(connection))
  const entries = await rewrapEntries(
    key,
    next,
    data.map(({ attributes }) => attributes),
  )
  await sendRequest('POST', '/req/profile/rewrap-keychain', { entries })
  return next
}

function getSalts({ salts }: Connection): Salts {
  if (!salts) throw new PageError('page.error')
  return salts
}
