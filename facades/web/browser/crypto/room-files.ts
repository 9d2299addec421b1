import { type Bytes, Malformed, randomBytes, utf8 } from './encoding.ts'
import { keyBytes } from './keys.ts'
import type { RoomKeys } from './room-texts.ts'
import { CannotOpen, decrypt, type Key } from './seal.ts'

/** Splits a stream of bytes into a first piece of one size and further pieces of another. */
export class Pieces {
  readonly #buffer: Bytes
  readonly #others: number
  #size: number
  #filled = 0

  constructor(first: number, others: number) {
    this.#buffer = new Uint8Array(Math.max(first, others))
    this.#size = first
    this.#others = others
  }

  /** Yields each piece but the last one. The next piece overwrites it. */
  *add(part: Uint8Array): Generator<Bytes, void> {
    for (let at = 0; at < part.length; ) {
      if (this.#filled === this.#size) {
        yield this.rest
        this.#filled = 0
        this.#size = this.#others
      }
      const bytes = part.subarray(at, at + this.#size - this.#filled)
      this.#buffer.set(bytes, this.#filled)
      this.#filled += bytes.length
      at += bytes.length
    }
  }

  /** Returns the bytes after the last piece. */
  get rest(): Bytes {
    return this.#buffer.subarray(0, this.#filled)
  }
}

/** The plain bytes of a chunk; only the last chunk may have fewer. */
const CHUNK_SIZE = 64 * 1024
const TAG_SIZE = 16

/**
 * The header consists of a magic word, the number of the room key, and a random salt with which the key of the file is
 * derived from the room key.
 */
const MAGIC_WORD = utf8('svcfile1')
const LABEL_SIZE = MAGIC_WORD.length + 4
const SALT_SIZE = 32
const HEADER_SIZE = LABEL_SIZE + SALT_SIZE

/** Returns the size of an encrypted file, to which limits apply. */
export const sealedFileSize = (bytes: number): number =>
  HEADER_SIZE + bytes + TAG_SIZE * Math.max(1, Math.ceil(bytes / CHUNK_SIZE))

/**
 * Encrypts a file of a room as a stream: a header, then chunks. Reordered, repeated or missing chunks, and chunks of
 * other files, fail to decrypt.
 */
export async function sealFile(roomKey: string, keyEpoch = 0): Promise<TransformStream<Uint8Array, Bytes>> {
  const header = writeHeader(keyEpoch)
  const key = await deriveFileKey(roomKey, header)
  const pieces = new Pieces(CHUNK_SIZE, CHUNK_SIZE)
  let count = 0
  const seal = async (plain: Bytes, isLast: boolean) =>
    new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv: buildNonce(count++, isLast) }, key, plain))
  return new TransformStream({
    start: (sealed) => sealed.enqueue(header),
    async transform(part, sealed) {
      for (const piece of pieces.add(part)) sealed.enqueue(await seal(piece, false))
    },
    flush: async (sealed) => sealed.enqueue(await seal(pieces.rest, true)),
  })
}

/**
 * Decrypts such a file as a stream, with the room key that its header names. The stream fails if the file is incomplete
 * or was altered. Bytes that were read before are authentic, but incomplete.
 */
export function openFile(keys: RoomKeys): TransformStream<Uint8Array, Bytes> {
  const pieces = new Pieces(HEADER_SIZE, CHUNK_SIZE + TAG_SIZE)
  let key: Key | undefined
  let count = 0
  const open = (piece: Bytes, isLast: boolean) => {
    if (!key) throw new Malformed('This is no encrypted file.')
    return decrypt({ name: 'AES-GCM', iv: buildNonce(count++, isLast) }, key, piece)
  }
  return new TransformStream({
    async transform(part, plain) {
      for (const piece of pieces.add(part)) {
        if (key) plain.enqueue(await open(piece, false))
        else key = await deriveFileKey(findRoomKey(keys, piece), piece)
      }
    },
    flush: async (plain) => plain.enqueue(await open(pieces.rest, true)),
  })
}

function writeHeader(keyEpoch: number): Bytes {
  const header = new Uint8Array(HEADER_SIZE)
  header.set(MAGIC_WORD)
  new DataView(header.buffer).setUint32(MAGIC_WORD.length, keyEpoch)
  header.set(randomBytes(SALT_SIZE), LABEL_SIZE)
  return header
}

function findRoomKey(keys: RoomKeys, header: Bytes): string {
  if (MAGIC_WORD.some((byte, at) => header[at] !== byte)) throw new Malformed('This is no encrypted file.')
  const keyEpoch = new DataView(header.buffer, header.byteOffset).getUint32(MAGIC_WORD.length)
  const key = keys.get(keyEpoch)
  if (key === undefined) throw new CannotOpen(`There is no key with the number ${keyEpoch}.`)
  return key
}

async function deriveFileKey(roomKey: string, header: Bytes): Promise<Key> {
  const base = await crypto.subtle.importKey('raw', keyBytes(roomKey), 'HKDF', false, ['deriveKey'])
  const rule = { name: 'HKDF', hash: 'SHA-256', salt: header.slice(LABEL_SIZE), info: header.slice(0, LABEL_SIZE) }
  return crypto.subtle.deriveKey(rule, base, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
}

/** Builds the nonce of a chunk from its number and a mark of the last one, so that no chunk can be moved or cut off. */
function buildNonce(chunk: number, isLast: boolean): Bytes {
  const nonce = new Uint8Array(12)
  new DataView(nonce.buffer).setUint32(7, chunk)
  nonce[11] = isLast ? 1 : 0
  return nonce
}
