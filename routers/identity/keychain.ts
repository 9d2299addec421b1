import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { type KeychainState, measureKeychain } from '../../entities/identity/user-keychain-value.sql.ts'
import { keyTypes } from '../../entities/identity/user-keychain-value.ts'
import type { Hooks } from '../core/hooks.ts'
import { Problem } from '../core/problems.ts'
import { runForOneRow } from '../core/run-statement.ts'
import type { KeychainQuota } from '../core/settings.ts'

const key = z.string().min(1, 'must not be empty').max(255, 'must have at most 255 characters')
const keyType = z.enum(keyTypes)

/** Base64 with padding, as browsers write it. The pattern is linear in the length of the text. */
const segment = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?'
const base64 = new RegExp(`^${segment}$`)

/** Aborts the validation, so that no long text is matched against a pattern. */
const tooLongError = (max: number) => ({ error: `must have at most ${max} characters`, abort: true })

/** A private key of 4096 bits has less than 5,000 characters; larger keys fit as well. */
const MAX_VALUE = 16_384

/** A value that the browser encrypted, as `iv|tag|ciphertext`. */
const value = z
  .string()
  .max(MAX_VALUE, tooLongError(MAX_VALUE))
  .refine(isEncrypted, 'must be three base64 texts joined by |: iv, tag and ciphertext')

function isEncrypted(text: string): boolean {
  const parts = text.split('|')
  return parts.length === 3 && parts.every((part) => part !== '' && base64.test(part))
}

/** Legacy front ends name the member `type`. */
const acceptLegacyKeys = (input: unknown): unknown => {
  if (typeof input !== 'object' || input === null || !('type' in input) || 'keyType' in input) return input
  const { type, ...rest } = input
  return { ...rest, keyType: type }
}

/** The members of a keychain entry. */
export const entryShape = { key, keyType, value }

/** The unique name of a keychain entry. */
export const keychainSlot = z.preprocess(acceptLegacyKeys, z.strictObject({ key, keyType }))

/** An entry of a keychain. */
export const keychainEntry = z.preprocess(acceptLegacyKeys, z.strictObject(entryShape))

/** More than anybody has rooms. */
export const MAX_ENTRIES = 2000

/** Returns false if a slot occurs twice, because it would be unclear which entry applies. */
export const hasDistinctSlots = (entries: readonly { key: string; keyType: string }[]) =>
  new Set(entries.map((entry) => `${entry.keyType} ${entry.key}`)).size === entries.length

const base64Text = (max: number) =>
  z.string().min(1, 'must not be empty').max(max, tooLongError(max)).regex(base64, 'must be base64')

/** The passkey, encrypted with a code that only the person has. */
export const passkeyBackup = z.strictObject({ ciphertext: base64Text(4096), iv: base64Text(64), tag: base64Text(64) })

/** Makes the browser forget its keys after a logout. The service itself holds no open key. */
export function lockKeychain({ from, to, notes }: Hooks['user-type-changed']): void {
  if (from !== 'guest' && to === 'guest') notes.clearSiteData()
}

/** A change within a transaction that has locked the person's row. */
export interface KeychainChange {
  em: EntityManager
  userId: number
  /** Input member that contains the entries. */
  member: string
  /** True if all entries are replaced, of which some may be unreadable and stay. */
  mayMix?: boolean
}

/**
 * Runs a change. Throws if the keychain has grown beyond its quota, or if the change mixes entries of another wrapping
 * into it, which a browser adds that still has the key from before.
 */
export async function enforceQuota(
  { maxEntries, maxBytes }: KeychainQuota,
  { em, userId, member, mayMix }: KeychainChange,
  change: () => Promise<void>,
): Promise<void> {
  const before = await readKeychainState(em, userId)
  await change()
  const after = await readKeychainState(em, userId)
  const isMixed = after.wrappings > Math.max(1, before.wrappings) || after.strayEntries > before.strayEntries
  if (isMixed && !mayMix) throw new Problem('keychain_rewrapped')
  const hasGrownBeyond = (measure: 'entries' | 'bytes', limit: number) =>
    after[measure] > limit && after[measure] > before[measure]
  if (hasGrownBeyond('entries', maxEntries)) throw createKeychainQuotaProblem(member, `${maxEntries} entries`)
  if (hasGrownBeyond('bytes', maxBytes))
    throw createKeychainQuotaProblem(member, `${maxBytes} bytes of keys and values`)
}

export const readKeychainState = (em: EntityManager, userId: number): Promise<KeychainState> =>
  runForOneRow(em, measureKeychain, [userId])

const createKeychainQuotaProblem = (member: string, limit: string) =>
  new Problem('quota_reached', {
    detail: `A keychain has at most ${limit}.`,
    issues: [{ path: [member], message: `would give the keychain more than ${limit}` }],
  })

/** Framing of an RSA key of 4096 bits in SPKI: every browser writes the same bytes before and after the modulus. */
const HEAD = Buffer.from('30820222300d06092a864886f70d01010105000382020f003082020a0282020100', 'hex')
const TAIL = Buffer.from('0203010001', 'hex')
const MODULUS_BYTES = 512
const CHARACTERS = 736

/** True if other browsers can encrypt with the public key. */
export function isPublicKey(text: string): boolean {
  if (text.length !== CHARACTERS) return false
  const der = Buffer.from(text, 'base64')
  const modulus = der.subarray(HEAD.length, HEAD.length + MODULUS_BYTES)
  const isFramed = Buffer.concat([HEAD, modulus, TAIL]).equals(der)
  // Browsers require a modulus of exactly 4096 bits that is odd. The last check rejects non-canonical base64.
  return (
    isFramed && Number(modulus.at(0)) >= 0x80 && Number(modulus.at(-1)) % 2 === 1 && der.toString('base64') === text
  )
}

export const publicKey = z
  .string()
  .min(1, { error: 'must not be empty', abort: true })
  .max(CHARACTERS, { error: 'is too long for an RSA key of 4096 bits', abort: true })
  .refine(isPublicKey, 'must be an RSA key of 4096 bits, as SPKI in base64')
  .describe('An RSA key of 4096 bits as SPKI in base64, as a browser generates it.')
