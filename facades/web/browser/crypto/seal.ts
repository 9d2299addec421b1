import { type Bytes, fromBase64, fromUtf8, Malformed, randomBytes, toBase64, utf8 } from './encoding.ts'

/** The CryptoKey type of WebCrypto, written so that it exists in the types of Node, too. */
export type Key = InstanceType<typeof CryptoKey>

/** The result of AES-256-GCM; each part is in base64. */
export interface Sealed {
  ciphertext: string
  iv: string
  tag: string
}

/** Decryption failed: the key is wrong or the sealed value was altered, which AES-GCM does not distinguish. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen'
}

const ivLength = 12
const tagLength = 16

/** Every call uses a new random IV; a parameter for it would invite reuse. */
export async function seal(key: Key, plain: string | Bytes): Promise<Sealed> {
  const iv = randomBytes(ivLength)
  const bytes = typeof plain === 'string' ? utf8(plain) : plain
  const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, key, bytes))
  return {
    ciphertext: toBase64(sealed.subarray(0, -tagLength)),
    iv: toBase64(iv),
    tag: toBase64(sealed.subarray(-tagLength)),
  }
}

export async function unsealBytes(key: Key, sealed: Sealed): Promise<Bytes> {
  const [ciphertext, iv, tag] = [fromBase64(sealed.ciphertext), fromBase64(sealed.iv), fromBase64(sealed.tag)]
  if (iv.length !== ivLength || tag.length !== tagLength) throw new Malformed('The IV or the tag has a wrong length.')
  return decrypt({ name: 'AES-GCM', iv }, key, new Uint8Array([...ciphertext, ...tag]))
}

export const unseal = async (key: Key, sealed: Sealed) => fromUtf8(await unsealBytes(key, sealed))

/** The one-line form of a sealed text: IV, tag, ciphertext. */
export const writeSealed = ({ ciphertext, iv, tag }: Sealed) => [iv, tag, ciphertext].join('|')

export function readSealed(text: string): Sealed {
  const [iv, tag, ciphertext, ...rest] = text.split('|')
  if (!iv || !tag || ciphertext === undefined || rest.length > 0) throw new Malformed('This is not a sealed text.')
  return { ciphertext, iv, tag }
}

type Algorithm = { name: 'AES-GCM'; iv: Bytes } | { name: 'RSA-OAEP' }

/** Turns a failed decryption into `CannotOpen`; other errors, such as a key of the wrong kind, are bugs and pass. */
export async function decrypt(algorithm: Algorithm, key: Key, bytes: Bytes): Promise<Bytes> {
  try {
    return new Uint8Array(await crypto.subtle.decrypt(algorithm, key, bytes))
  } catch (cause) {
    if (!(cause instanceof DOMException) || cause.name !== 'OperationError') throw cause
    throw new CannotOpen('The key does not fit, or the text has been altered.', { cause })
  }
}
