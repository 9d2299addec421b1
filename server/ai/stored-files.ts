import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { FileReadError, type StoredBytes } from '../../routers/ports/ai/prompt-files.ts'
import type { OutboundRequest } from '../net/http-client.ts'

const DIGITS = 8

/**
 * The stored files of one prompt. Its text has a placeholder for each of them, which is replaced by the file in base64
 * when the request is sent.
 */
export class StoredFiles {
  /** Random beginning of all placeholders of this prompt. */
  #mark = ''
  readonly #files: StoredBytes[] = []

  createPlaceholder(file: StoredBytes): string {
    this.#mark ||= randomBytes(16).toString('hex')
    return `${this.#mark}${`${this.#files.push(file) - 1}`.padStart(DIGITS, '0')}`
  }

  /** Makes the files available to all requests of `send`, because the AI SDK passes on text only. */
  runWith<T>(send: () => Promise<T>): Promise<T> {
    return this.#files.length > 0 ? currentFiles.run(this, send) : send()
  }

  /** Splits a text at its placeholders into texts and files. */
  splitByPlaceholder(text: string): (string | StoredBytes)[] {
    const placeholder = new RegExp(`${this.#mark}(\\d{${DIGITS}})`)
    return text
      .split(placeholder)
      .map((piece, at) => (at % 2 === 0 ? piece : (this.#files[Number(piece)] as StoredBytes)))
  }
}

const currentFiles = new AsyncLocalStorage<StoredFiles>()

/**
 * Replaces the placeholders in a request body by the files. It sets `Content-Length`, because not every provider
 * accepts a body without it.
 */
export function insertStoredFiles(request: OutboundRequest): OutboundRequest {
  const files = currentFiles.getStore()
  if (!files || typeof request.body !== 'string') return request
  const pieces = files.splitByPlaceholder(request.body)
  const length = pieces.reduce((sum, piece) => sum + measurePiece(piece), 0)
  const body = Readable.from(readPieces(pieces), { objectMode: false })
  // The sender gets this error, too.
  body.on('error', () => {})
  return { ...request, headers: { ...request.headers, 'content-length': `${length}` }, body }
}

const measurePiece = (piece: string | StoredBytes) =>
  typeof piece === 'string' ? Buffer.byteLength(piece) : computeBase64Length(piece.bytes)

/** Opens each file only after the ones before it were read. */
async function* readPieces(pieces: readonly (string | StoredBytes)[]): AsyncGenerator<Buffer, void> {
  for (const piece of pieces)
    if (typeof piece === 'string') yield Buffer.from(piece)
    else yield* readFileAsBase64(piece)
}

async function* readFileAsBase64(file: StoredBytes): AsyncGenerator<Buffer, void> {
  try {
    yield* encodeBase64(file.open(), file.bytes)
  } catch (error) {
    throw new FileReadError(error)
  }
}

/** Length in base64, which turns three bytes into four characters. */
const computeBase64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4

/** Encodes bytes as they come. Throws if their number differs from the expected one. */
async function* encodeBase64(content: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer, void> {
  let [rest, read]: [Buffer, number] = [Buffer.alloc(0), 0]
  for await (const part of content) {
    read += part.length
    if (read > bytes) break
    const all = rest.length > 0 ? Buffer.concat([rest, part]) : part
    const whole = all.length - (all.length % 3)
    rest = all.subarray(whole)
    if (whole > 0) yield encodeChunk(all.subarray(0, whole))
  }
  if (read !== bytes) throw new Error('a stored file has not the size that it was written with')
  if (rest.length > 0) yield encodeChunk(rest)
}

const encodeChunk = (bytes: Buffer) => Buffer.from(bytes.toString('base64'), 'latin1')
