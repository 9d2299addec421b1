import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { measureKeychain } from '../../entities/identity/user-keychain-value.sql.ts'
import { keyTypes } from '../../entities/identity/user-keychain-value.ts'
import type { Hooks } from '../core/hooks.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import type { KeychainQuota } from '../core/settings.ts'

const key = z.string().min(1, 'must not be empty').max(255, 'must have at most 255 characters')
const keyType = z.enum(keyTypes)

/** Base64 with padding, as browsers write it. Linear, so that a long text costs no time. */
const segment = '(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?'
const base64 = new RegExp(`^${segment}$`)

/** Ends the judging of a text: nobody compares megabytes with a pattern. */
const tooLong = (max: number) => ({ error: `must have at most ${max} characters`, abort: true })

/** A private key of 4096 bits is below 5,000; this is room for larger ones. */
const MAX_VALUE = 16_384

/** What a browser has encrypted, as `iv|tag|ciphertext`. */
const value = z
  .string()
  .max(MAX_VALUE, tooLong(MAX_VALUE))
  .refine(isEncrypted, 'must be three base64 texts joined by |: iv, tag and ciphertext')

function isEncrypted(text: string): boolean {
  const parts = text.split('|')
  return parts.length === 3 && parts.every((part) => part !== '' && base64.test(part))
}

/** Front ends of old call the type `type`. */
const acceptLegacyKeys = (input: unknown): unknown => {
  if (typeof input !== 'object' || input === null || !('type' in input) || 'keyType' in input) return input
  const { type, ...rest } = input
  return { ...rest, keyType: type }
}

/** Which entry of a keychain: no two have the same. */
export const keychainSlot = z.preprocess(acceptLegacyKeys, z.strictObject({ key, keyType }))

/** An entry of a keychain. */
export const keychainEntry = z.preprocess(acceptLegacyKeys, z.strictObject({ key, keyType, value }))

/** More than the rooms a person is in. */
export const MAX_ENTRIES = 2000

/** No slot may come twice: which of the two would hold is not for us to choose. */
export const distinctSlots = (entries: readonly { key: string; keyType: string }[]) =>
  new Set(entries.map((entry) => `${entry.keyType} ${entry.key}`)).size === entries.length

const encoded = (max: number) =>
  z.string().min(1, 'must not be empty').max(max, tooLong(max)).regex(base64, 'must be base64')

/** A passkey, encrypted with the code that only its person has. */
export const passkeyBackup = z.strictObject({ ciphertext: encoded(4096), iv: encoded(64), tag: encoded(64) })

/** The service holds no open key. What it can lock is the browser that did, by having it forget all it kept. */
export function lockKeychain({ from, to, hints }: Hooks['user-type-changed']): void {
  if (from !== 'guest' && to === 'guest') hints.clearSiteData = true
}

/** Where a change is carried out: in a transaction that holds the row of the person. */
export interface KeychainChange {
  em: EntityManager
  userId: number
  /** The member of the input that brings the entries. */
  member: string
}

interface Size {
  entries: number
  bytes: number
}

/** Carries out a change; throws where it leaves a keychain that is larger than before and than it may be. */
export async function withinQuota(
  { maxEntries, maxBytes }: KeychainQuota,
  { em, userId, member }: KeychainChange,
  change: () => Promise<void>,
): Promise<void> {
  const before = await readSize(em, userId)
  await change()
  const after = await readSize(em, userId)
  const exceeds = (what: keyof Size, limit: number) => after[what] > limit && after[what] > before[what]
  if (exceeds('entries', maxEntries)) throw overQuota(member, `${maxEntries} entries`)
  if (exceeds('bytes', maxBytes)) throw overQuota(member, `${maxBytes} bytes of keys and values`)
}

async function readSize(em: EntityManager, userId: number): Promise<Size> {
  const [size] = await runStatement(em, measureKeychain, [userId])
  return size ?? { entries: 0, bytes: 0 }
}

const overQuota = (member: string, limit: string) =>
  new Problem('invalid', {
    detail: `A keychain has at most ${limit}.`,
    issues: [{ path: [member], message: `would give the keychain more than ${limit}` }],
  })

/** An RSA key of 4096 bits in SPKI as every browser writes it: what stands before and behind the modulus never differs. */
const HEAD = Buffer.from('30820222300d06092a864886f70d01010105000382020f003082020a0282020100', 'hex')
const TAIL = Buffer.from('0203010001', 'hex')
const MODULUS_BYTES = 512
const CHARACTERS = 736

/** Whether the browsers of others can encrypt with a public key. */
export function isPublicKey(text: string): boolean {
  if (text.length !== CHARACTERS) return false
  const der = Buffer.from(text, 'base64')
  const modulus = der.subarray(HEAD.length, HEAD.length + MODULUS_BYTES)
  const isFramed = Buffer.concat([HEAD, modulus, TAIL]).equals(der)
  // Of 4096 bits, and odd, as browsers insist; base64 can be written in more ways than one.
  return (
    isFramed && Number(modulus.at(0)) >= 0x80 && Number(modulus.at(-1)) % 2 === 1 && der.toString('base64') === text
  )
}

export const publicKey = z
  .string()
  .min(1, { error: 'must not be empty', abort: true })
  .max(CHARACTERS, { error: 'is too long for an RSA key of 4096 bits', abort: true })
  .refine(isPublicKey, 'must be an RSA key of 4096 bits, as SPKI in base64')
  .describe('An RSA key of 4096 bits as SPKI in base64, as a browser makes it.')
