import { createHash } from 'node:crypto'

/** Settings with the salts of the front end's key derivations. */
export const saltSettings = {
  userdata: 'USERDATA_ENCRYPTION_SALT',
  invitation: 'INVITATION_SALT',
  ai: 'AI_CRYPTO_SALT',
  passkey: 'PASSKEY_SALT',
  backup: 'BACKUP_SALT',
} as const

/** Derives a salt for an unset setting. It changes with the application key, and then no keychain can be opened. */
export const fallbackSalt = (appKey: string, setting: string) => sha256(`${appKey}semi_static_salt${sha256(setting)}`)

/** Returns a hash that changes with the account's public key; front ends then drop their cached keys. */
export const keyHash = (userId: number, publicKey: string) =>
  createHash('md5').update(`${userId}-${publicKey}`).digest('hex')

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
