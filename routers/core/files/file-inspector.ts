import { createTooLargeProblem } from '../incoming-file.ts'
import { Problem } from '../problems.ts'
import type { FileRules } from '../settings.ts'
import {
  detectKindOfFile,
  detectKindOfHead,
  explainRefusal,
  type FileKind,
  HEAD_BYTES,
  isTextual,
} from './file-kind.ts'
import type { RandomAccessFile } from './random-access-file.ts'
import { createTextCheck } from './text-kind.ts'

const ciphertextKind: FileKind = { mime: 'application/octet-stream', fileType: 'other' }

/** Inspects a file while it streams, and aborts it if the rules do not allow it. */
export class FileInspector {
  readonly #rules: FileRules
  readonly #isCiphertext: boolean
  /** Known during the upload if the file is text or ciphertext. */
  #kind: FileKind | undefined
  /** Checks that the rest of a text file is text, too. */
  #isStillText: ((part: Uint8Array) => boolean) | undefined

  constructor(rules: FileRules, isCiphertext: boolean) {
    this.#rules = rules
    this.#isCiphertext = isCiphertext
    if (isCiphertext) this.#kind = ciphertextKind
  }

  /** Yields the bytes unchanged, but none before it is known whether the file is text. */
  async *inspect(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    let head: Uint8Array[] | undefined = []
    let seen = 0
    for await (const part of content) {
      seen += part.length
      if (seen > this.#rules.maxFileSize) throw createTooLargeProblem(this.#rules)
      if (!head) {
        yield this.#assertStillText(part)
        continue
      }
      head.push(part)
      if (seen < HEAD_BYTES) continue
      yield await this.#inspectHead(Buffer.concat(head))
      head = undefined
    }
    if (seen === 0) throw new Problem('invalid', { issues: [{ path: ['file'], message: 'must not be empty' }] })
    if (head) yield await this.#inspectHead(Buffer.concat(head))
  }

  /** Detects the kind of the stored file; throws if such files are not allowed. */
  async detectKind(file: RandomAccessFile): Promise<FileKind> {
    return this.#kind ?? this.#assertAllowed(await detectKindOfFile(file))
  }

  async #inspectHead(bytes: Buffer): Promise<Buffer> {
    // The examined size does not depend on the chunks of the network.
    const kind = this.#isCiphertext ? undefined : await detectKindOfHead(bytes.subarray(0, HEAD_BYTES))
    if (!kind) return bytes
    this.#kind = this.#assertAllowed(kind)
    if (isTextual(kind.mime)) this.#isStillText = await createTextCheck(bytes)
    this.#assertStillText(bytes)
    return bytes
  }

  #assertAllowed(kind: FileKind | undefined): FileKind {
    if (kind && this.#rules.allowedMimeTypes.includes(kind.mime)) return kind
    throw new Problem('unsupported_media_type', { detail: explainRefusal(kind) })
  }

  /** Throws if a file that began as text continues as something else. */
  #assertStillText<Part extends Uint8Array>(part: Part): Part {
    if (this.#isStillText && !this.#isStillText(part)) this.#assertAllowed(undefined)
    return part
  }
}
