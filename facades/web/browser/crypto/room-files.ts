import { type Bytes, Malformed, randomBytes, utf8 } from './encoding.ts'
import { keyBytes } from './keys.ts'
import type { RoomKeys } from './room-texts.ts'
import { CannotOpen, decrypt, type Key } from './seal.ts'

/** Cuts bytes, which come in any parts, into a first piece of one size and others of another. */
export class Pieces {
  readonly #held: Bytes
  readonly #others: number
  #size: number
  #filled = 0

  constructor(first: number, others: number) {
    this.#held = new Uint8Array(Math.max(first, others))
    this.#size = first
    this.#others = others
  }

  /** Each piece that something follows; it is overwritten by the next one. */
  *add(part: Uint8Array): Generator<Bytes, void> {
    for (let at = 0; at < part.length; ) {
      if (this.#filled === this.#size) {
        yield this.rest
        this.#filled = 0
        this.#size = this.#others
      }
      const taken = part.subarray(at, at + this.#size - this.#filled)
      this.#held.set(taken, this.#filled)
      this.#filled += taken.length
      at += taken.length
    }
  }

  /** Returns the bytes after the last piece. */
  get rest(): Bytes {
    return this.#held.subarray(0, this.#filled)
  }
}

/** Plain bytes of a chunk; only the last one may have fewer. */
const CHUNK = 64 * 1024
const TAG = 16

/** A header begins with a word and the number of the key of the room; a random salt makes a key of the file from that one. */
const WORD = utf8('svcfile1')
const LABEL = WORD.length + 4
const SALT = 32
const HEADER = LABEL + SALT

/** Returns the size of an encrypted file, to which limits apply. */
export const sealedFileSize = (bytes: number): number => HEADER + bytes + TAG * Math.max(1, Math.ceil(bytes / CHUNK))

/**
 * Encrypts a file of a room as it passes, whatever its size: a header, then chunks that cannot be reordered, repeated, cut off, or
 * exchanged for those of other files.
 */
export async function sealFile(roomKey: string, keyEpoch = 0): Promise<TransformStream<Uint8Array, Bytes>> {
  const header = writeHeader(keyEpoch)
  const key = await fileKey(roomKey, header)
  const pieces = new Pieces(CHUNK, CHUNK)
  let count = 0
  const seal = async (plain: Bytes, isLast: boolean) =>
    new Uint8Array(await crypto.subtle.encrypt({ name: 'AES-GCM', iv: nonceOf(count++, isLast) }, key, plain))
  return new TransformStream({
    start: (sealed) => sealed.enqueue(header),
    async transform(part, sealed) {
      for (const piece of pieces.add(part)) sealed.enqueue(await seal(piece, false))
    },
    flush: async (sealed) => sealed.enqueue(await seal(pieces.rest, true)),
  })
}

/**
 * Opens such a file as it passes, with the key that it names. The stream fails where the file is not whole or was altered: what
 * came before that is as it was written, and not all of it.
 */
export function openFile(keys: RoomKeys): TransformStream<Uint8Array, Bytes> {
  const pieces = new Pieces(HEADER, CHUNK + TAG)
  let key: Key | undefined
  let count = 0
  const open = (piece: Bytes, isLast: boolean) => {
    if (!key) throw new Malformed('This is no encrypted file.')
    return decrypt({ name: 'AES-GCM', iv: nonceOf(count++, isLast) }, key, piece)
  }
  return new TransformStream({
    async transform(part, plain) {
      for (const piece of pieces.add(part)) {
        if (key) plain.enqueue(await open(piece, false))
        else key = await fileKey(roomKeyFor(keys, piece), piece)
      }
    },
    flush: async (plain) => plain.enqueue(await open(pieces.rest, true)),
  })
}

function writeHeader(keyEpoch: number): Bytes {
  const header = new Uint8Array(HEADER)
  header.set(WORD)
  new DataView(header.buffer).setUint32(WORD.length, keyEpoch)
  header.set(randomBytes(SALT), LABEL)
  return header
}

function roomKeyFor(keys: RoomKeys, header: Bytes): string {
  if (WORD.some((byte, at) => header[at] !== byte)) throw new Malformed('This is no encrypted file.')
  const keyEpoch = new DataView(header.buffer, header.byteOffset).getUint32(WORD.length)
  const key = keys.get(keyEpoch)
  if (key === undefined) throw new CannotOpen(`There is no key with the number ${keyEpoch}.`)
  return key
}

async function fileKey(roomKey: string, header: Bytes): Promise<Key> {
  const base = await crypto.subtle.importKey('raw', keyBytes(roomKey), 'HKDF', false, ['deriveKey'])
  const rule = { name: 'HKDF', hash: 'SHA-256', salt: header.slice(LABEL), info: header.slice(0, LABEL) }
  return crypto.subtle.deriveKey(rule, base, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
}

/** The number of a chunk, and whether it is the last. */
function nonceOf(chunk: number, isLast: boolean): Bytes {
  const nonce = new Uint8Array(12)
  new DataView(nonce.buffer).setUint32(7, chunk)
  nonce[11] = isLast ? 1 : 0
  return nonce
}
