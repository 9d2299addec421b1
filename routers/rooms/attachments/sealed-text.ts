import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { deflateRaw, inflateRaw } from 'node:zlib'
import type { StoredFile } from '../../ports/files/file-store.ts'
import { FILE_KEY, type Vault } from '../../ports/vault.ts'

const IV_BYTES = 12
const TAG_BYTES = 16

type FileKey = Pick<StoredFile, 'sealedKey'>

/** Compresses a text and encrypts it with a key derived from the key of its file: nonce, ciphertext, tag. */
export async function sealText(vault: Vault, file: FileKey, text: string): Promise<Buffer> {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', deriveTextKey(vault, file), iv)
  const compressed = await promisify(deflateRaw)(text)
  return Buffer.concat([iv, cipher.update(compressed), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts a text; throws if it was changed or belongs to another file. */
export async function openText(vault: Vault, file: FileKey, sealed: Buffer): Promise<Buffer> {
  const decipher = createDecipheriv('aes-256-gcm', deriveTextKey(vault, file), sealed.subarray(0, IV_BYTES))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  return promisify(inflateRaw)(
    Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()]),
  )
}

const deriveTextKey = (vault: Vault, { sealedKey }: FileKey) =>
  Buffer.from(hkdfSync('sha256', Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url'), '', 'svc text v1', 32))
