import { createHash } from 'node:crypto'

/** The salts of the front end's key derivations, and the setting that each is read from. */
export const saltSettings = {
  userdata: 'USERDATA_ENCRYPTION_SALT',
  invitation: 'INVITATION_SALT',
  ai: 'AI_CRYPTO_SALT',
  passkey: 'PASSKEY_SALT',
  backup: 'BACKUP_SALT',
} as const

/** What stands in for a salt that is not set. It changes with the application key, and then no keychain opens any more. */
export const fallbackSalt = (appKey: string, setting: string) => sha256(`${appKey}semi_static_salt${sha256(setting)}`)

/** A text that changes with the public key of an account: front ends drop what they kept when it does. */
export const keyHash = (userId: number, publicKey: string) =>
  createHash('md5').update(`${userId}-${publicKey}`).digest('hex')

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
