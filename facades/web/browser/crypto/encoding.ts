/** Bytes that WebCrypto accepts, which excludes shared memory. */
export type Bytes = Uint8Array<ArrayBuffer>

/** A value that was read has the wrong format. */
export class Malformed extends Error {
  override readonly name = 'Malformed'
}

const encoder = new TextEncoder()
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export const utf8 = (text: string): Bytes => encoder.encode(text)

export function fromUtf8(bytes: Bytes): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    throw new Malformed('This is not UTF-8 text.', { cause })
  }
}

/** Standard alphabet, padded. */
export const toBase64 = (bytes: Bytes) => btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))

/** Stricter than `atob`, which overlooks spaces and missing padding. */
export function fromBase64(text: string): Bytes {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new Malformed('This is not base64.')
  return Uint8Array.from(atob(text), (unit) => unit.charCodeAt(0))
}

export const toHex = (bytes: Bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

export const randomBytes = (length: number): Bytes => crypto.getRandomValues(new Uint8Array(length))
