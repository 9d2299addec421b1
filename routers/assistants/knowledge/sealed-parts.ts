import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import type { KnowledgeContent } from '../../../entities/assistants/knowledge.sql.ts'
import type { StoredFile } from '../../ports/files/file-store.ts'
import { FILE_KEY, type Vault } from '../../ports/vault.ts'
import type { ReadPassage } from './cited-passages.ts'
import type { PassageContent } from './searched-text.ts'

const IV_BYTES = 12
const TAG_BYTES = 16

/** Derives the key of the parts of a file from the key of the file, so that a new application key leaves them as they are. */
export const derivePartKey = (vault: Vault, { sealedKey }: Pick<StoredFile, 'sealedKey'>): Buffer =>
  Buffer.from(hkdfSync('sha256', Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url'), '', 'svc knowledge v1', 32))

/** Encrypts a part of a file: nonce, ciphertext, tag. The name says which part it is, and no other name opens it. */
export function sealPart(key: Buffer, name: string, part: Uint8Array | string): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(name))
  return Buffer.concat([iv, cipher.update(part), cipher.final(), cipher.getAuthTag()])
}

/** Decrypts a part; throws if it was changed, or is another part or that of another file. */
export function openPart(key: Uint8Array, name: string, sealed: Uint8Array): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, IV_BYTES)).setAAD(Buffer.from(name))
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(sealed.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
}

/** The names of the parts of a file: the words of all passages, each passage, and its vector in each index of vectors. */
export const TERMS = 'terms'
export const passageName = (ordinal: number): string => `passage ${ordinal}`
export const vectorName = (indexId: number, ordinal: number): string => `vector ${indexId} ${ordinal}`

/** Decrypts the text and the headings of a passage. */
export const openContent = (
  key: Uint8Array,
  { ordinal, sealed }: Pick<KnowledgeContent, 'ordinal' | 'sealed'>,
): PassageContent => JSON.parse(openPart(key, passageName(ordinal), sealed).toString())

export function openPassage(vault: Vault, row: KnowledgeContent): ReadPassage {
  const { fileId: file, path, page, from, to } = row
  const { text, headings } = openContent(derivePartKey(vault, row), row)
  return { file, path, page, headings, from, to, text }
}
