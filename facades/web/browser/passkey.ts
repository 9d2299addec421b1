import { backupKey, passkeyKey, type Salts } from './derive.ts'
import { randomBytes, toHex } from './encoding.ts'
import { fits, type KeychainEntry, makeKeychain, type Validator } from './keychain.ts'
import { type Key, type Sealed, seal, unseal } from './seal.ts'

/** The salts that somebody in registration is given. */
export type OwnSalts = Pick<Salts, 'userdata' | 'backup'>

/** A passkey of keys that every keyboard has; asked for where the `security` block restricts the characters. */
export const plainPasskey = /^[A-Za-z0-9!@#$%^&*()_+-]+$/

/** What the handshake posts; nothing in it opens without the passkey or the backup code. */
export interface Handshake {
  publicKey: string
  keychain: KeychainEntry[]
  passkeyBackup: Sealed
}

interface FirstKeys {
  handshake: Handshake
  /** To be shown once, and kept by the person alone. */
  backupCode: string
  key: Key
}

/** Everything that a first login makes. The passkey itself goes no further than this call. */
export async function firstKeys(passkey: string, username: string, salts: OwnSalts): Promise<FirstKeys> {
  const key = await passkeyKey(passkey, salts)
  const [{ publicKey, keychain }, { backupCode, passkeyBackup }] = await Promise.all([
    makeKeychain(key),
    makeBackup(passkey, username, salts),
  ])
  return { handshake: { publicKey, keychain, passkeyBackup }, backupCode, key }
}

/** The key of the passkey, or undefined when the passkey is wrong. */
export async function unlock(passkey: string, validator: Validator, salts: Pick<Salts, 'userdata'>) {
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

/** Forgives capitals, spaces and other dashes in a typed code; any other text is left as it is. */
export function readBackupCode(typed: string): string {
  const digits = typed.toLowerCase().replace(/[\s\p{Dash}]/gu, '')
  return /^[0-9a-f]{16}$/.test(digits) ? grouped(digits) : typed.trim()
}

const grouped = (digits: string) => digits.replace(/.{4}(?!$)/g, '$&-')
