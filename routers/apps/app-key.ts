import { createPublicKey, generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { z } from 'zod'
import { createBulkhead } from '../core/load/concurrency.ts'

/** RSA keys as existing apps read them: `b64(PEM)|b64(body)`, where the body is what stands in the PEM. */
export interface KeyPair {
  publicKey: string
  privateKey: string
}

const BITS = 4096

/** A pair takes a processor a second or more. */
const making = createBulkhead(2, 20)

export const makeKeyPair = (): Promise<KeyPair> =>
  making(async () => {
    const { publicKey, privateKey } = await promisify(generateKeyPair)('rsa', {
      modulusLength: BITS,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    return { publicKey: keyText(publicKey), privateKey: keyText(privateKey) }
  })

function keyText(pem: string): string {
  const body = pem.replace(/-----[^-]+-----|\s/g, '')
  return [pem, body].map((part) => Buffer.from(part).toString('base64')).join('|')
}

/** The key in a text that `keyText` wrote. */
export const parseKey = (text: string): KeyObject =>
  createPublicKey(Buffer.from(text.split('|', 1)[0] ?? '', 'base64').toString())

/** Of a key of 8192 bits as PEM. */
const MAX_CHARACTERS = 1600

/** The public key that an app brings, as PEM or as base64 of its SPKI. */
export const givenPublicKey = z
  .string()
  .trim()
  .max(MAX_CHARACTERS)
  .refine(
    (text) => readPublicKey(text) !== undefined,
    'must be an RSA key of 2048 to 8192 bits, as SPKI in PEM or base64',
  )

/** The key as we keep it. */
export const keptPublicKey = (given: string): string =>
  keyText(readPublicKey(given)?.export({ type: 'spki', format: 'pem' }).toString() ?? '')

function readPublicKey(text: string): KeyObject | undefined {
  const body = text.replace(/^-----BEGIN PUBLIC KEY-----|-----END PUBLIC KEY-----$|\s/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(body)) return undefined
  try {
    const key = createPublicKey({ key: Buffer.from(body, 'base64'), format: 'der', type: 'spki' })
    const { modulusLength = 0, publicExponent } = key.asymmetricKeyDetails ?? {}
    const isSound = modulusLength >= 2048 && modulusLength <= 8192 && publicExponent === 65_537n
    return key.asymmetricKeyType === 'rsa' && isSound ? key : undefined
  } catch {
    return undefined
  }
}
