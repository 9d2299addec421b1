import { passkeyKey, type Salts, saltedPasskeyKey } from './derive.ts'
import { fromBase64, Malformed, randomBytes, toBase64 } from './encoding.ts'
import { CannotOpen, type Key, readSealed, seal, unseal, writeSealed } from './seal.ts'

/**
 * Names the derivation of the key that seals a keychain: empty for the reference's form, otherwise the base64 of a
 * version, the rounds and the person's salt. The salted form writes it in front of the IV of each value, so that a value
 * still has three parts.
 */
export type Wrapping = string

/** A key of the salted form. */
export interface SaltedKey {
  key: Key
  wrapping: Wrapping
}

/** The key that opens a keychain. A bare key is one of the reference's form. */
export type KeychainKey = Key | SaltedKey

/** The forms in which a keychain is wrapped. */
export type KeychainForm = 'reference' | 'salted'

const VERSION = 2
const SALT_LENGTH = 16
const HEADER_LENGTH = 1 + 4 + SALT_LENGTH
/** 21 bytes are 28 characters without padding, so that header and IV stay separate texts. */
const WRAPPING_LENGTH = 28
const SALTED_IV_LENGTH = WRAPPING_LENGTH + 16

/** The rounds of new keychains: about a second on a slow phone. */
export const ROUNDS = 600_000
/** Bounds for values that were read, so that no value keeps a browser busy for minutes. */
const [MIN_ROUNDS, MAX_ROUNDS] = [600_000, 10_000_000]

/** Reads the wrapping of a keychain value. */
export const readWrapping = (value: string): Wrapping =>
  value.indexOf('|') === SALTED_IV_LENGTH ? value.slice(0, WRAPPING_LENGTH) : ''

/** Returns the wrapping of the values that a key seals. */
export const wrappingOf = (key: KeychainKey): Wrapping => ('wrapping' in key ? key.wrapping : '')

/** Returns true if a keychain with this wrapping has the form, with as many rounds as new ones. */
export const hasForm = (wrapping: Wrapping, form: KeychainForm): boolean =>
  form === 'reference' ? wrapping === '' : wrapping !== '' && readHeader(wrapping).rounds >= ROUNDS

/** Creates the wrapping of a new keychain; a salted one has a new salt. */
export const makeWrapping = (form: KeychainForm): Wrapping =>
  form === 'reference' ? '' : writeHeader(ROUNDS, randomBytes(SALT_LENGTH))

function writeHeader(rounds: number, salt: Uint8Array): Wrapping {
  const header = new Uint8Array(HEADER_LENGTH)
  const view = new DataView(header.buffer)
  view.setUint8(0, VERSION)
  view.setUint32(1, rounds)
  header.set(salt, 1 + 4)
  return toBase64(header)
}

function readHeader(wrapping: Wrapping) {
  const header = fromBase64(wrapping)
  const view = new DataView(header.buffer)
  const rounds = header.length === HEADER_LENGTH && view.getUint8(0) === VERSION ? view.getUint32(1) : 0
  if (rounds < MIN_ROUNDS || rounds > MAX_ROUNDS) throw new Malformed('The keychain has an unknown form.')
  return { rounds, salt: header.slice(1 + 4) }
}

/** Derives the key of a wrapping from the passkey. The salted form takes the passkey in Unicode's form NFC. */
export async function deriveKeychainKey(
  passkey: string,
  wrapping: Wrapping,
  salts: Pick<Salts, 'userdata'>,
): Promise<KeychainKey> {
  if (wrapping === '') return passkeyKey(passkey, salts)
  return { key: await saltedPasskeyKey(passkey.normalize('NFC'), salts, readHeader(wrapping)), wrapping }
}

/** Seals a keychain value in the form of the key. */
export async function sealValue(keychainKey: KeychainKey, plain: string): Promise<string> {
  return wrappingOf(keychainKey) + writeSealed(await seal(toKey(keychainKey), plain))
}

/** Decrypts a keychain value. */
export async function unsealValue(keychainKey: KeychainKey, value: string): Promise<string> {
  const wrapping = wrappingOf(keychainKey)
  if (readWrapping(value) !== wrapping) throw new CannotOpen('The keychain has been wrapped with another key.')
  return unseal(toKey(keychainKey), readSealed(value.slice(wrapping.length)))
}

const toKey = (key: KeychainKey): Key => ('wrapping' in key ? key.key : key)
