import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes, randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { ByteRange, FileStore } from '../../routers/ports/files/file-store.ts'
import { FILE_KEY, type Vault } from '../../routers/ports/vault.ts'
import type { Blobs } from './blobs/blobs.ts'

const NAME = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** As many as are removed at a time. */
const BATCH = 16

/** Keeps sealed files below a folder of what is stored. */
export function createFileStore(vault: Vault, blobs: Blobs, folder = 'sealed/'): FileStore {
  /** By the first two characters of the name, so that no folder of a disk gets too many files. */
  const buildKey = (name: string) => {
    if (!NAME.test(name)) throw new Error('this is no name of a file')
    return `${folder}${name.slice(0, 2)}/${name}`
  }
  return {
    async write(content) {
      const [name, key] = [randomUUID(), randomBytes(32)]
      let bytes = 0
      async function* counted() {
        for await (const part of content) {
          bytes += part.length
          yield part
        }
      }
      await blobs.put(buildKey(name), sealChunks(key, counted()))
      return { name, bytes, sealedKey: vault.seal(key.toString('base64url'), FILE_KEY) }
    },

    read({ name, bytes, sealedKey }, range = { start: 0, end: Math.max(0, bytes - 1) }) {
      const key = Buffer.from(vault.open(sealedKey, FILE_KEY), 'base64url')
      const sealed = blobs.get(buildKey(name), sealedRange({ bytes, ...range }))
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

/** Plain bytes of a chunk; only the last one may have fewer. */
const CHUNK = 64 * 1024
const TAG = 16
const SEALED = CHUNK + TAG

/**
 * A file is a row of chunks, each sealed by AES-256-GCM under the key of the file alone. The nonce of a chunk is its number and
 * whether it is the last, so that chunks cannot be reordered, repeated or cut off, and any of them can be opened by itself.
 */
const writeNonce = (chunk: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeUInt32BE(chunk, 7)
  nonce[11] = isLast ? 1 : 0
  return nonce
}

/** Seals bytes as they come. An empty file is one empty chunk. */
async function* sealChunks(bytes: Buffer, content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, void> {
  const key = createSecretKey(bytes)
  const chunk = Buffer.allocUnsafe(CHUNK)
  let filled = 0
  let count = 0
  for await (const part of content)
    for (let at = 0; at < part.length; ) {
      // What follows shows that a full chunk is not the last.
      if (filled === CHUNK) {
        yield* seal(key, chunk, count++, false)
        filled = 0
      }
      const piece = part.subarray(at, at + CHUNK - filled)
      chunk.set(piece, filled)
      filled += piece.length
      at += piece.length
    }
  yield* seal(key, chunk.subarray(0, filled), count, true)
}

/** In two parts: to put them together would copy every file once more. */
function seal(key: KeyObject, plain: Buffer, chunk: number, isLast: boolean): Buffer[] {
  const cipher = createCipheriv('aes-256-gcm', key, writeNonce(chunk, isLast))
  const sealed = cipher.update(plain)
  cipher.final()
  return [sealed, cipher.getAuthTag()]
}

function open(key: KeyObject, sealed: Buffer, chunk: number, isLast: boolean): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, writeNonce(chunk, isLast))
  decipher.setAuthTag(sealed.subarray(-TAG))
  const plain = decipher.update(sealed.subarray(0, -TAG))
  decipher.final()
  return plain
}

interface Opening extends ByteRange {
  key: Buffer
  /** Of the whole file, before it was sealed. */
  bytes: number
}

/** The sealed bytes that must be read to open a part of a file. */
function sealedRange({ bytes, start, end }: Omit<Opening, 'key'>): ByteRange {
  const [first, last] = [Math.floor(start / CHUNK), Math.floor(end / CHUNK)]
  const size = bytes + (countLastChunk(bytes) + 1) * TAG
  return { start: first * SEALED, end: Math.min((last + 1) * SEALED, size) - 1 }
}

const countLastChunk = (bytes: number) => Math.max(0, Math.ceil(bytes / CHUNK) - 1)

/** Opens a part of a file from the sealed bytes of `sealedRange`. Throws where they are not those that were written. */
async function* openChunks(
  { key, bytes, start, end }: Opening,
  sealed: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer, void> {
  const secret = createSecretKey(key)
  let chunk = Math.floor(start / CHUNK)
  for await (const piece of inPieces(sealed)) {
    if (piece.length < TAG) break
    const plain = open(secret, piece, chunk, chunk === countLastChunk(bytes))
    const from = chunk * CHUNK
    yield plain.subarray(Math.max(0, start - from), end + 1 - from)
    chunk++
  }
  if (chunk <= Math.floor(end / CHUNK)) throw new Error('a stored file is shorter than it was written')
}

/** The same bytes, by sealed chunks; each is overwritten by the next. */
async function* inPieces(sealed: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
  const piece = Buffer.allocUnsafe(SEALED)
  let filled = 0
  for await (const part of sealed)
    for (let at = 0; at < part.length; ) {
      const taken = part.copy(piece, filled, at)
      filled += taken
      at += taken
      if (filled < SEALED) continue
      yield piece
      filled = 0
    }
  if (filled > 0) yield piece.subarray(0, filled)
}
