import { backupKey, type Salts } from './derive.ts'
import { Malformed, randomBytes, toHex } from './encoding.ts'
import { importPrivateKey, importPublicKey, keyBytes, makeKey, makeKeyPair } from './keys.ts'
import { CannotOpen, type Sealed, seal, unseal } from './seal.ts'
import {
  deriveKeychainKey,
  type KeychainForm,
  type KeychainKey,
  makeWrapping,
  readWrapping,
  sealValue,
  unsealValue,
} from './wrapping.ts'

export type KeyType = 'private_key' | 'public_key' | 'ai_conv' | 'room_key' | 'room_ai' | 'room_ai_legacy'

/** One entry of a keychain. Its value is sealed wherever it is stored or sent. */
export interface KeychainEntry {
  key: string
  keyType: KeyType
  value: string
}

/** Seals an entry whose value is the plain key in base64. */
export async function sealEntry(
  passkeyKey: KeychainKey,
  { key, keyType, value }: KeychainEntry,
): Promise<KeychainEntry> {
  return { key, keyType, value: await sealValue(passkeyKey, value) }
}

/**
 * Decrypts an entry to its plain key. The format does not bind a value to its slot, so this checks that the key is at
 * least of the slot's kind.
 */
export async function unsealEntry(passkeyKey: KeychainKey, { keyType, value }: KeychainEntry): Promise<string> {
  const plain = await unsealValue(passkeyKey, value)
  if (keyType === 'public_key') await importPublicKey(plain)
  else if (keyType === 'private_key') await importPrivateKey(plain)
  else keyBytes(plain)
  return plain
}

/** The keys of a new account: an RSA pair, and one key for all private conversations. */
export async function makeKeychain(passkeyKey: KeychainKey): Promise<{ publicKey: string; keychain: KeychainEntry[] }> {
  const { publicKey, privateKey } = await makeKeyPair()
  const plain: KeychainEntry[] = [
    { key: 'privateKey', keyType: 'private_key', value: privateKey },
    { key: 'publicKey', keyType: 'public_key', value: publicKey },
    { key: 'aiConvKey', keyType: 'ai_conv', value: makeKey() },
  ]
  return { publicKey, keychain: await Promise.all(plain.map((entry) => sealEntry(passkeyKey, entry))) }
}

/** The caller's public key twice: as the service stores it, and as the keychain holds it. */
export interface Validator {
  publicKey: string
  validator: string
}

/**
 * Returns true for the key of the right passkey. Throws if the service shows another public key than the keychain's.
 */
export async function fits(passkeyKey: KeychainKey, { publicKey, validator }: Validator): Promise<boolean> {
  try {
    if (readPublicKey(await unsealValue(passkeyKey, validator)) === publicKey) return true
  } catch (error) {
    if (error instanceof CannotOpen) return false
    throw error
  }
  throw new Malformed('The public key of the account is not the one in its keychain.')
}

/** Reads the public key in a validator: its value, or a member of the JSON object in an old, undivided keychain. */
function readPublicKey(plain: string): unknown {
  return plain.startsWith('{') ? (JSON.parse(plain) as { publicKey?: unknown }).publicKey : plain
}

/** The salts that the service gives to people who are registering. */
export type OwnSalts = Pick<Salts, 'userdata' | 'backup'>

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
  key: KeychainKey
}

/** Makes all keys of a first login. The passkey itself is neither stored nor sent. */
export async function firstKeys(
  passkey: string,
  username: string,
  salts: OwnSalts,
  form: KeychainForm = 'reference',
): Promise<FirstKeys> {
  const key = await deriveKeychainKey(passkey, makeWrapping(form), salts)
  const [{ publicKey, keychain }, { backupCode, passkeyBackup }] = await Promise.all([
    makeKeychain(key),
    makeBackup(passkey, username, salts),
  ])
  return { handshake: { publicKey, keychain, passkeyBackup }, backupCode, key }
}

/** A passkey that opens a keychain, with its key. */
export interface RightPasskey {
  /** The passphrase, normalized as for the derivation of the key. */
  passkey: string
  key: KeychainKey
}

/** Tries a passkey on a keychain of either form. Returns undefined if it is wrong. */
export async function tryPasskey(
  typed: string,
  validator: Validator,
  salts: Pick<Salts, 'userdata'>,
): Promise<RightPasskey | undefined> {
  const wrapping = readWrapping(validator.validator)
  // The reference derives keys from the passkey as it was typed. Keyboards write some letters in different ways.
  for (const passkey of new Set([typed, typed.normalize('NFC')])) {
    const key = await deriveKeychainKey(passkey, wrapping, salts)
    if (await fits(key, validator)) return { passkey: wrapping === '' ? passkey : passkey.normalize('NFC'), key }
    if (wrapping !== '') break
  }
  return undefined
}

/** The key of the passkey, or undefined when the passkey is wrong. */
export const unlock = async (passkey: string, validator: Validator, salts: Pick<Salts, 'userdata'>) =>
  (await tryPasskey(passkey, validator, salts))?.key

/** An entry in another wrapping, with the tag of the value that it replaces. */
export interface RewrappedEntry extends KeychainEntry {
  replaces: string
}

/**
 * Seals all entries of a keychain with another key. An entry that the first key does not open stays as it is. Throws if
 * that is one without which nothing else opens.
 */
export const rewrapEntries = (
  from: KeychainKey,
  to: KeychainKey,
  keychain: readonly KeychainEntry[],
): Promise<RewrappedEntry[]> =>
  Promise.all(
    keychain.map(async ({ key, keyType, value }) => {
      const isEssential = keyType === 'public_key' || keyType === 'private_key'
      const plain = await unsealValue(from, value).catch((error) => {
        if (isEssential) throw error
        return undefined
      })
      const [, replaces = ''] = value.split('|')
      return { key, keyType, value: plain === undefined ? value : await sealValue(to, plain), replaces }
    }),
  )

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
export const makeBackupCode = () => groupDigits(toHex(randomBytes(8)))

/** Corrects capitals, spaces and other dashes in a typed code; leaves any other text unchanged. */
export function readBackupCode(typed: string): string {
  const digits = typed.toLowerCase().replace(/[\s\p{Dash}]/gu, '')
  return /^[0-9a-f]{16}$/.test(digits) ? groupDigits(digits) : typed.trim()
}

const groupDigits = (digits: string) => digits.replace(/.{4}(?!$)/g, '$&-')
