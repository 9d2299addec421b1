import { type Bytes, fromBase64, fromUtf8, Malformed, randomBytes, toBase64, toHex, utf8 } from './encoding.ts'
import { decrypt, type Key, readSealed, seal, unseal, writeSealed } from './seal.ts'

const oaep = { name: 'RSA-OAEP', hash: 'SHA-256' }

/** A symmetric key as it is stored: 32 random bytes in base64. */
export const makeKey = () => toBase64(randomBytes(32))

/** Returns the bytes of a symmetric key; throws if the text is none. */
export function keyBytes(text: string): Bytes {
  const bytes = fromBase64(text)
  if (bytes.length !== 32) throw new Malformed('A symmetric key has 32 bytes.')
  return bytes
}

export const importKey = async (text: string): Promise<Key> =>
  crypto.subtle.importKey('raw', keyBytes(text), 'AES-GCM', false, ['encrypt', 'decrypt'])

/** Both halves as they are stored: base64 of DER, the public one SPKI, the private one PKCS#8. */
export interface KeyPair {
  publicKey: string
  privateKey: string
}

export async function makeKeyPair(): Promise<KeyPair> {
  const size = { modulusLength: 4096, publicExponent: new Uint8Array([1, 0, 1]) }
  const pair = await crypto.subtle.generateKey({ ...oaep, ...size }, true, ['encrypt', 'decrypt'])
  const [spki, pkcs8] = await Promise.all([
    crypto.subtle.exportKey('spki', pair.publicKey),
    crypto.subtle.exportKey('pkcs8', pair.privateKey),
  ])
  return { publicKey: toBase64(new Uint8Array(spki)), privateKey: toBase64(new Uint8Array(pkcs8)) }
}

export const importPublicKey = (text: string): Promise<Key> => importHalf('spki', text, 'encrypt')

/** The key of an external app, which has the size that the app chose. */
export const importAppKey = (text: string): Promise<Key> =>
  importHalf('spki', text, 'encrypt', { min: 2048, max: 8192 })

export const importPrivateKey = (text: string): Promise<Key> => importHalf('pkcs8', text, 'decrypt')

const usualSize = { min: 4096, max: 4096 }

async function importHalf(
  format: 'spki' | 'pkcs8',
  text: string,
  usage: 'encrypt' | 'decrypt',
  { min, max } = usualSize,
): Promise<Key> {
  const der = fromBase64(readBrowserKey(text))
  const key = await crypto.subtle.importKey(format, der, oaep, false, [usage]).catch((cause) => {
    throw new Malformed('This is not such an RSA key.', { cause })
  })
  const { algorithm } = key
  const bits = 'modulusLength' in algorithm ? Number(algorithm.modulusLength) : 0
  if (bits < min || bits > max) throw new Malformed(`RSA keys have ${min === max ? min : `${min} to ${max}`} bits.`)
  return key
}

/** The browser's form of a key: the server writes its own keys as two base64 segments, PEM first, then this form. */
function readBrowserKey(text: string): string {
  const [first = '', second] = text.split('|')
  return second === undefined ? first : fromUtf8(fromBase64(second))
}

/** RSA-OAEP of a short secret, in base64. */
export const wrap = async (publicKey: Key, bytes: Bytes) =>
  toBase64(new Uint8Array(await crypto.subtle.encrypt({ name: 'RSA-OAEP' }, publicKey, bytes)))

export const unwrap = (privateKey: Key, wrapped: string) =>
  decrypt({ name: 'RSA-OAEP' }, privateKey, fromBase64(wrapped))

/** Seals a text of any length to somebody's public key. The wrapped key is in base64 twice; that is the format. */
export async function sealTo(publicKey: Key, plain: string): Promise<string> {
  const key = makeKey()
  const wrapped = await wrap(publicKey, keyBytes(key))
  const sealed = writeSealed(await seal(await importKey(key), plain))
  return [wrapped, sealed].map((part) => toBase64(utf8(part))).join('|')
}

export async function unsealFrom(privateKey: Key, text: string): Promise<string> {
  const [wrapped, sealed, ...rest] = text.split('|').map((part) => fromUtf8(fromBase64(part)))
  if (!wrapped || !sealed || rest.length > 0) throw new Malformed('This is not sealed to a public key.')
  const key = await importKey(toBase64(await unwrap(privateKey, wrapped)))
  return unseal(key, readSealed(sealed))
}

/** The fingerprint that two people compare to verify a key: SHA-256 of its DER, in groups of four. */
export async function fingerprint(publicKey: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', fromBase64(publicKey))
  return toHex(new Uint8Array(digest)).replace(/.{4}(?!$)/g, '$& ')
}
