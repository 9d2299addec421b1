import { backupKey, passkeyKey, type Salts } from './derive.ts'
import { randomBytes, toHex } from './encoding.ts'
import { fits, type KeychainEntry, makeKeychain, type Validator } from './keychain.ts'
import { type Key, type Sealed, seal, unseal } from './seal.ts'

/** The salts that the service gives to people who are registering. */
export type OwnSalts = Pick<Salts, 'userdata' | 'backup'>

/** Characters that every keyboard has; required where the `security` block restricts the characters. */
export const plainPasskey = /^[A-Za-z0-9!@#$%^&*()_+-]+$/

/** The body of the handshake request; its values can be decrypted only with the passkey or the backup code. */
export interface Handshake {
  publicKey: string
  keychain: KeychainEntry[]
  passkeyBackup: Sealed
}

interface FirstKeys {
  handshake: Handshake
  /** Shown once; only the person keeps it. */
  backupCode: string
  key: Key
}

/** Makes all keys of a first login. The passkey itself is neither stored nor sent. */
export async function firstKeys(passkey: string, username: string, salts: OwnSalts): Promise<FirstKeys> {
  const key = await passkeyKey(passkey, salts)
  const [{ publicKey, keychain }, { backupCode, passkeyBackup }] = await Promise.all([
    makeKeychain(key),
    makeBackup(passkey, username, salts),
  ])
  return { handshake: { publicKey, keychain, passkeyBackup }, backupCode, key }
}

/** The key of the passkey, or undefined when the passkey is wrong. */
export async function unlock(
  passkey: string,
  validator: Validator,
  salts: Pick<Salts, 'userdata'>,
): Promise<Key | undefined> {
  const key = await passkeyKey(passkey, salts)
  return (await fits(key, validator)) ? key : undefined
}

/** A new code, and the passkey sealed under it. Storing the backup makes any earlier code useless. */
export async function makeBackup(passkey: string, username: string, salts: Pick<Salts, 'backup'>) {
  const backupCode = makeBackupCode()
  const passkeyBackup = await seal(await backupKey(backupCode, username, salts), passkey)
  return { backupCode, passkeyBackup }
}

/** The passkey that a backup holds, for the person's eyes and for `unlock`. */
export async function recover(code: string, username: string, backup: Sealed, salts: Pick<Salts, 'backup'>) {
  return unseal(await backupKey(readBackupCode(code), username, salts), backup)
}

/** Eight random bytes, as `xxxx-xxxx-xxxx-xxxx`. */
export const makeBackupCode = () => grouped(toHex(randomBytes(8)))

/** Corrects capitals, spaces and other dashes in a typed code; leaves any other text unchanged. */
export function readBackupCode(typed: string): string {
  const digits = typed.toLowerCase().replace(/[\s\p{Dash}]/gu, '')
  return /^[0-9a-f]{16}$/.test(digits) ? grouped(digits) : typed.trim()
}

const grouped = (digits: string) => digits.replace(/.{4}(?!$)/g, '$&-')
