import { constants, createCipheriv, publicEncrypt, randomBytes } from 'node:crypto'
import { keyOf } from './app-key.ts'

const base64 = (bytes: Buffer | string) => Buffer.from(bytes).toString('base64')

/** Seals a text so that only the app can open it: AES-256-GCM, and its key by RSA-OAEP with SHA-256, in the form of the browsers. */
export function sealForApp(publicKey: string, plain: string): string {
  const [key, iv] = [randomBytes(32), randomBytes(12)]
  const cipher = createCipheriv('aes-256-gcm', key, iv)
  const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
  const padding = constants.RSA_PKCS1_OAEP_PADDING
  const wrapped = publicEncrypt({ key: keyOf(publicKey), padding, oaepHash: 'sha256' }, key)
  const text = [iv, cipher.getAuthTag(), sealed].map(base64).join('|')
  return [base64(wrapped), text].map(base64).join('|')
}
