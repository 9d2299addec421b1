import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { createBulkhead } from '../core/load/concurrency.ts'

/** RSA keys in the format of existing apps: `b64(PEM)|b64(body)`, where the body is the base64 part of the PEM. */
export interface KeyPair {
  publicKey: string
  privateKey: string
}

const KEY_BITS = 4096

/** Generating a pair occupies a CPU for a second or more. */
const keyPairBulkhead = createBulkhead(2, 20)

export const makeKeyPair = (): Promise<KeyPair> =>
  keyPairBulkhead(async () => {
    const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
      modulusLength: KEY_BITS,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    return { publicKey: encodeKey(publicKey), privateKey: encodeKey(privateKey) }
  })

function encodeKey(pem: string): string {
  const body = pem.replace(/-----[^-]+-----|\s/g, '')
  return [pem, body].map((part) => Buffer.from(part).toString('base64')).join('|')
}

/** Parses a key that `encodeKey` wrote. */
export const parseKey = (text: string): KeyObject =>
  createPublicKey(Buffer.from(text.split('|', 1)[0] ?? '', 'base64').toString())

/** Length of a key of 8192 bits as PEM. */
const MAX_CHARACTERS = 1600

/** The public key of an app, as PEM or as the base64 of its SPKI. */
export const publicKeyInput = z
  .string()
  .trim()
  .max(MAX_CHARACTERS)
  .refine(
    (text) => readPublicKey(text) !== undefined,
    'must be an RSA key of 2048 to 8192 bits, as SPKI in PEM or base64',
  )

/** Converts the key to the stored format. */
export const normalizePublicKey = (publicKey: string): string =>
  encodeKey(readPublicKey(publicKey)?.export({ type: 'spki', format: 'pem' }).toString() ?? '')

function readPublicKey(text: string): KeyObject | undefined {
  const body = text.replace(/^-----BEGIN PUBLIC KEY-----|-----END PUBLIC KEY-----$|\s/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) return undefined
  try {
    const key = createPublicKey({ key: Buffer.from(body, 'base64'), format: 'der', type: 'spki' })
    const { modulusLength = 0, publicExponent } = key.asymmetricKeyDetails ?? {}
    const isAcceptable = modulusLength >= 2048 && modulusLength <= 8192 && publicExponent === 65_537n
    return key.asymmetricKeyType === 'rsa' && isAcceptable ? key : undefined
  } catch {
    return undefined
  }
}
