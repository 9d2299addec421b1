import { tooLarge } from '../../core/incoming-file.ts'
import { Problem } from '../../core/problems.ts'
import type { FileRules } from '../../core/settings.ts'
import { explainRefusal, type FileKind, HEAD, isTextual, kindOfFile, kindOfHead } from './file-kind.ts'
import type { RandomAccessFile } from './random-access-file.ts'
import { textWatch } from './text-kind.ts'

const ciphertext: FileKind = { mime: 'application/octet-stream', fileType: 'other' }

/** Looks at a file while it passes, and breaks it off where the rules do not let it in. */
export class FileInspector {
  readonly #rules: FileRules
  readonly #isCiphertext: boolean
  /** Known while the file passes, if it is text or ciphertext. */
  #kind: FileKind | undefined
  /** Of a text, whether what follows its beginning is text, too. */
  #goesOn: ((part: Uint8Array) => boolean) | undefined

  constructor(rules: FileRules, isCiphertext: boolean) {
    this.#rules = rules
    this.#isCiphertext = isCiphertext
    if (isCiphertext) this.#kind = ciphertext
  }

  /** The same bytes. Nothing of a file passes before it is known whether it is text. */
  async *inspect(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    let head: Uint8Array[] | undefined = []
    let seen = 0
    for await (const part of content) {
      seen += part.length
      if (seen > this.#rules.maxFileSize) throw tooLarge(this.#rules)
      if (!head) {
        yield this.#assertGoesOn(part)
        continue
      }
      head.push(part)
      if (seen < HEAD) continue
      yield await this.#lookAt(Buffer.concat(head))
      head = undefined
    }
    if (seen === 0) throw new Problem('invalid', { issues: [{ path: ['file'], message: 'must not be empty' }] })
    if (head) yield await this.#lookAt(Buffer.concat(head))
  }

  /** The kind of the file, when all of it has passed and is stored. Throws where such files are not taken. */
  async judge(file: RandomAccessFile): Promise<FileKind> {
    return this.#kind ?? this.#assertTaken(await kindOfFile(file))
  }

  async #lookAt(bytes: Buffer): Promise<Buffer> {
    // However the network cut the file, as much of it is judged.
    const kind = this.#isCiphertext ? undefined : await kindOfHead(bytes.subarray(0, HEAD))
    if (!kind) return bytes
    this.#kind = this.#assertTaken(kind)
    if (isTextual(kind.mime)) this.#goesOn = await textWatch(bytes)
    this.#assertGoesOn(bytes)
    return bytes
  }

  #assertTaken(kind: FileKind | undefined): FileKind {
    if (kind && this.#rules.allowedMimeTypes.includes(kind.mime)) return kind
    throw new Problem('unsupported_media_type', { detail: explainRefusal(kind) })
  }

  /** Throws where a file that began as text goes on as something else. */
  #assertGoesOn<Part extends Uint8Array>(part: Part): Part {
    if (this.#goesOn && !this.#goesOn(part)) this.#assertTaken(undefined)
    return part
  }
}
