import { type Bytes, toBase64, utf8 } from './encoding.ts'
import type { Key } from './seal.ts'

/** The salts of the installation, named as in the `salts` block; every key is derived with one of them. */
export interface Salts {
  userdata: string
  passkey: string
  backup: string
  invitation: string
  ai: string
}

const ROUNDS = 100_000

const KEYCHAIN = 'keychain_encryptor'

/** The key that opens a keychain in the reference's form; the browser stores it instead of the passkey. */
export const passkeyKey = (passkey: string, { userdata }: Pick<Salts, 'userdata'>): Promise<Key> =>
  deriveKey(passkey, KEYCHAIN, userdata)

/** The key that opens a keychain in the salted form: with a salt of the person, and more rounds. */
export const saltedPasskeyKey = (
  passkey: string,
  { userdata }: Pick<Salts, 'userdata'>,
  stretch: Stretch,
): Promise<Key> => deriveKey(passkey, KEYCHAIN, userdata, undefined, stretch)

/** More work for each guess. */
interface Stretch {
  rounds: number
  /** Follows the salt of the installation. */
  salt: Bytes
}

const noStretch: Stretch = { rounds: ROUNDS, salt: new Uint8Array() }

/** The key of the passkey's copy on the server, from the backup code as it was shown. */
export const backupKey = (code: string, username: string, { backup }: Pick<Salts, 'backup'>): Promise<Key> =>
  deriveKey(code, `${username}_backup`, backup)

/** The key that wraps a room key for an invited person who has no public key yet. */
export const invitationKey = (hash: string, { invitation }: Pick<Salts, 'invitation'>): Promise<Key> =>
  deriveKey(hash, 'invitation_key', invitation)

/** The key that encrypts the AI's messages in a room; a text, because the browser sends it to the server. */
export const roomAiKey = async (roomKey: string, slug: string, { ai }: Pick<Salts, 'ai'>) =>
  toBase64(await deriveBytes(roomKey, slug, ai))

/** Opens old AI messages of a room. Every account can derive it, so nothing new is sealed with it. */
export const legacyRoomAiKey = (slug: string, { ai }: Pick<Salts, 'ai'>): Promise<Key> =>
  deriveKey('[object CryptoKey]', slug, ai, ['decrypt'])

/** Opens the passkey backup of an older client. Every account can derive it, so nothing new is sealed with it. */
export const localCopyKey = (email: string, username: string, { passkey }: Pick<Salts, 'passkey'>): Promise<Key> =>
  deriveKey(email, username, passkey, ['decrypt'])

async function deriveBytes(secret: string, label: string, salt: string): Promise<Bytes> {
  const base = await crypto.subtle.importKey('raw', utf8(secret), 'PBKDF2', false, ['deriveBits'])
  return new Uint8Array(await crypto.subtle.deriveBits(buildKeyDerivation(secret, label, salt), base, 256))
}

async function deriveKey(
  secret: string,
  label: string,
  salt: string,
  usages: ('encrypt' | 'decrypt')[] = ['encrypt', 'decrypt'],
  stretch = noStretch,
): Promise<Key> {
  const base = await crypto.subtle.importKey('raw', utf8(secret), 'PBKDF2', false, ['deriveKey'])
  const form = { name: 'AES-GCM', length: 256 }
  return crypto.subtle.deriveKey(buildKeyDerivation(secret, label, salt, stretch), base, form, false, usages)
}

/** PBKDF2 with the low byte of each UTF-16 unit of the salt, which is the format of stored keys. */
function buildKeyDerivation(secret: string, label: string, salt: string, { rounds, salt: ownSalt } = noStretch) {
  if (!secret || !label || !salt) throw new TypeError('A key needs a secret, a label and a salt.')
  const bytes = new Uint8Array([...utf8(label), ...salt.split('').map((unit) => unit.charCodeAt(0)), ...ownSalt])
  return { name: 'PBKDF2', hash: 'SHA-256', iterations: rounds, salt: bytes }
}
