import { AsyncLocalStorage } from 'node:async_hooks'
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { FileReadError, type StoredBytes } from '../../routers/ports/ai/prompt-files.ts'
import type { OutboundRequest } from '../net/http-client.ts'

const DIGITS = 8

/** The stored files of one prompt. Its text has a word in the place of each, for which the bytes are sent, in base64. */
export class StoredFiles {
  /** How all words of this prompt begin, which nobody can guess. */
  #mark = ''
  readonly #files: StoredBytes[] = []

  createPlaceholder(file: StoredBytes): string {
    this.#mark ||= randomBytes(16).toString('hex')
    return `${this.#mark}${`${this.#files.push(file) - 1}`.padStart(DIGITS, '0')}`
  }

  /** Has the files sent by whatever `send` asks: the AI SDK hands on the text and nothing else. */
  runWith<T>(send: () => Promise<T>): Promise<T> {
    return this.#files.length > 0 ? currentFiles.run(this, send) : send()
  }

  /** What is sent in the place of a text: pieces of it, and files between them. */
  splitByPlaceholder(text: string): (string | StoredBytes)[] {
    const placeholder = new RegExp(`${this.#mark}(\\d{${DIGITS}})`)
    return text
      .split(placeholder)
      .map((piece, at) => (at % 2 === 0 ? piece : (this.#files[Number(piece)] as StoredBytes)))
  }
}

const currentFiles = new AsyncLocalStorage<StoredFiles>()

/** The request with the bytes of stored files in its body, in the size that it announces: not every provider takes another. */
export function insertStoredFiles(request: OutboundRequest): OutboundRequest {
  const files = currentFiles.getStore()
  if (!files || typeof request.body !== 'string') return request
  const pieces = files.splitByPlaceholder(request.body)
  const length = pieces.reduce((sum, piece) => sum + measurePiece(piece), 0)
  const body = Readable.from(readPieces(pieces), { objectMode: false })
  // Whoever sends it is told.
  body.on('error', () => {})
  return { ...request, headers: { ...request.headers, 'content-length': `${length}` }, body }
}

const measurePiece = (piece: string | StoredBytes) =>
  typeof piece === 'string' ? Buffer.byteLength(piece) : base64Length(piece.bytes)

/** Opens a file when those before it have been taken. */
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

/** How many characters so many bytes are, three of which are four. */
const base64Length = (bytes: number): number => Math.ceil(bytes / 3) * 4

/** Bytes in base64 as they come. Throws where they are not as many as they were said to be. */
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
