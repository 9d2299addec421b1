import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { LRUCache } from 'lru-cache'
import type { ByteRange } from '../../ports/files/file-store.ts'

/** Bytes that are read at once; a detector reads a few bytes here and there. */
const CHUNK = 64 * 1024
const MAX_CHUNKS = 16

/** A stored file with random access. */
export class RandomAccessFile {
  readonly size: number
  /** The error of the store, if the file could not be read. */
  failure: unknown
  readonly #open: (range: ByteRange) => Readable
  readonly #chunks = new LRUCache<number, Promise<Buffer>>({ max: MAX_CHUNKS })

  constructor(size: number, open: (range: ByteRange) => Readable) {
    this.size = size
    this.#open = open
  }

  /** Returns fewer bytes at the end of the file. */
  async read(start: number, length: number): Promise<Buffer> {
    const end = Math.min(start + length, this.size)
    const parts: Buffer[] = []
    for (let at = start; at < end; ) {
      const chunk = Math.floor(at / CHUNK)
      const begin = chunk * CHUNK
      const part = (await this.#chunk(chunk)).subarray(at - begin, end - begin)
      if (part.length === 0) throw new Error('a stored file is shorter than it was written')
      parts.push(part)
      at += part.length
    }
    return Buffer.concat(parts)
  }

  #chunk(number: number): Promise<Buffer> {
    const start = number * CHUNK
    const cached = this.#chunks.get(number)
    if (cached) return cached
    const chunk = buffer(this.#open({ start, end: Math.min(start + CHUNK, this.size) - 1 }))
    this.#chunks.set(number, chunk)
    chunk.catch((error: unknown) => {
      this.failure = error
    })
    return chunk
  }

  /** Returns the part of the `Blob` interface that `file-type` uses. */
  asBlob(): Blob {
    const slice = (start: number, end: number) => ({ arrayBuffer: () => this.read(start, end - start) })
    return { size: this.size, type: '', slice } as unknown as Blob
  }

  /** Yields the bytes from `start` up to `end`, a chunk at a time. */
  async *readRange(start: number, end: number): AsyncGenerator<Buffer, void> {
    for (let at = start; at < end; at += CHUNK) yield await this.read(at, Math.min(CHUNK, end - at))
  }
}
