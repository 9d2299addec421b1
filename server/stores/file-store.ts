import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ByteRange, FileStore } from '../../routers/ports/files/file-store.ts'
import { FILE_KEY, type Vault } from '../../routers/ports/vault.ts'
import type { Blobs } from './blobs/blobs.ts'

const NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Number of files that are removed concurrently. */
const BATCH = 16

/** Creates a store of encrypted files below a folder of the blob storage. */
export function createFileStore(vault: Vault, blobs: Blobs, folder = 'sealed/'): FileStore {
  /** Builds the blob key. It has a subfolder by the first two characters of the name, so that no folder gets too many files. */
  const buildKey = (name: string) => {
    if (!NAME.test(name)) throw new Error('this is no name of a file')
    return `${folder}${name.slice(0, 2)}/${name}`
  }
  return {
    async write(content) {
      const [name, key] = [randomUUID(), randomBytes(32)]
      let bytes = 0
      async function* countBytes() {
        for await (const part of content) {
          bytes += part.length
          yield part
        }
      }
      await blobs.put(buildKey(name), sealChunks(key, countBytes()))
      return { name, bytes, sealedKey: vault.seal(key.toString('base64url'), FILE_KEY) }
    },

    read({ name, bytes, sealedKey }, range = { start: 0, end: Math.max(0, bytes - 1) }) {
      const key = Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url')
      const sealed = blobs.get(buildKey(name), toSealedRange({ bytes, ...range }))
      return Readable.from(openChunks({ key, bytes, ...range }, sealed), { objectMode: false })
    },

    async remove(names) {
      for (let at = 0; at < names.length; at += BATCH)
        await Promise.all(names.slice(at, at + BATCH).map(async (name) => blobs.remove(buildKey(name))))
    },

    async *list() {
      for await (const { key, modifiedAt } of blobs.list(folder)) {
        const name = key.slice(key.lastIndexOf('/') + 1)
        if (NAME.test(name) && buildKey(name) === key) yield { name, modifiedAt }
      }
    },
  }
}

/** Plain bytes of a chunk; only the last chunk may have fewer. */
const CHUNK = 64 * 1024
const TAG = 16
const SEALED = CHUNK + TAG

/**
 * Builds the nonce of a chunk: its index, and a flag for the last chunk. A file is a sequence of chunks, each encrypted with
 * AES-256-GCM under the file's own key. With these nonces chunks cannot be reordered, repeated or cut off, and each can be
 * decrypted alone.
 */
const buildNonce = (chunk: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(chunk, 7)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** Encrypts a stream in chunks. An empty file is one empty chunk. */
async function* sealChunks(bytes: Buffer, content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  const key = createSecretKey(bytes)
  const chunk = Buffer.allocUnsafe(CHUNK)
  let filled = 0
  let count = 0
  for await (const part of content)
    for (let at = 0; at < part.length; ) {
      // A full chunk is only sealed when more bytes follow, because the last chunk has another nonce.
      if (filled === CHUNK) {
        yield* sealChunk(key, chunk, count++, false)
        filled = 0
      }
      const piece = part.subarray(at, at + CHUNK - filled)
      chunk.set(piece, filled)
      filled += piece.length
      at += piece.length
    }
  yield* sealChunk(key, chunk.subarray(0, filled), count, true)
}

/** Encrypts a chunk. Returns ciphertext and tag separately, because joining them would copy every file once more. */
function sealChunk(key: KeyObject, plain: Buffer, chunk: number, isLast: boolean): Buffer[] {
  const cipher = createCipheriv('aes-256-gcm', key, buildNonce(chunk, isLast))
  const sealed = cipher.update(plain)
  cipher.final()
  return [sealed, cipher.getAuthTag()]
}

function openChunk(key: KeyObject, sealed: Buffer, chunk: number, isLast: boolean): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, buildNonce(chunk, isLast))
  decipher.setAuthTag(sealed.subarray(-TAG))
  const plain = decipher.update(sealed.subarray(0, -TAG))
  decipher.final()
  return plain
}

interface FileRange extends ByteRange {
  key: Buffer
  /** Size of the whole plain file. */
  bytes: number
}

/** Returns the range of encrypted bytes that contains a plain range. */
function toSealedRange({ bytes, start, end }: Omit<FileRange, 'key'>): ByteRange {
  const [first, last] = [Math.floor(start / CHUNK), Math.floor(end / CHUNK)]
  const size = bytes + (computeLastChunk(bytes) + 1) * TAG
  return { start: first * SEALED, end: Math.min((last + 1) * SEALED, size) - 1 }
}

const computeLastChunk = (bytes: number) => Math.max(0, Math.ceil(bytes / CHUNK) - 1)

/** Decrypts a range of a file from the bytes of `toSealedRange`. Throws if they are not the bytes that were written. */
async function* openChunks(
  { key, bytes, start, end }: FileRange,
  sealed: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  const secret = createSecretKey(key)
  let chunk = Math.floor(start / CHUNK)
  for await (const piece of readSealedChunks(sealed)) {
    if (piece.length < TAG) break
    const plain = openChunk(secret, piece, chunk, chunk === computeLastChunk(bytes))
    const from = chunk * CHUNK
    yield plain.subarray(Math.max(0, start - from), end + 1 - from)
    chunk++
  }
  if (chunk <= Math.floor(end / CHUNK)) throw new Error('a stored file is shorter than it was written')
}

/** Splits a stream into encrypted chunks. All chunks share one buffer, which the next one overwrites. */
async function* readSealedChunks(sealed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const piece = Buffer.allocUnsafe(SEALED)
  let filled = 0
  for await (const part of sealed)
    for (let at = 0; at < part.length; ) {
      const copied = part.copy(piece, filled, at)
      filled += copied
      at += copied
      if (filled < SEALED) continue
      yield piece
      filled = 0
    }
  if (filled > 0) yield piece.subarray(0, filled)
}
