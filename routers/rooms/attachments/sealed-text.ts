import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { StoredFile } from '../../ports/files/file-store.ts'
import { FILE_KEY, type Vault } from '../../ports/vault.ts'

const IV = 12
const TAG = 16

type KeyOfFile = Pick<StoredFile, 'sealedKey'>

/** The text of a file, compressed and encrypted under a key that is made of that of the file: nonce, ciphertext, tag. */
export async function sealText(vault: Vault, file: KeyOfFile, text: string): Promise<Buffer> {
  const iv = randomBytes(IV)
  const cipher = createCipheriv('aes-256-gcm', textKey(vault, file), iv)
  const compressed = await promisify(deflateRaw)(text)
  return Buffer.concat([iv, cipher.update(compressed), cipher.final(), cipher.getAuthTag()])
}

/** Throws where it was changed, or belongs to another file. */
export async function openText(vault: Vault, file: KeyOfFile, sealed: Buffer): Promise<Buffer> {
  const decipher = createDecipheriv('aes-256-gcm', textKey(vault, file), sealed.subarray(0, IV))
  decipher.setAuthTag(sealed.subarray(-TAG))
  return promisify(inflateRaw)(Buffer.concat([decipher.update(sealed.subarray(IV, -TAG)), decipher.final()]))
}

const textKey = (vault: Vault, { sealedKey }: KeyOfFile) =>
  Buffer.from(hkdfSync('sha256', Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url'), '', 'svc text v1', 32))
