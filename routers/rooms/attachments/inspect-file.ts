import { Problem } from '../../core/problems.ts'
import type { FileRules } from '../../core/settings.ts'
import { type FileKind, kindOf } from './file-kind.ts'

/** As much as is looked at to tell the kind of a file. */
const HEAD = 64 * 1024

const ciphertext: FileKind = { mime: 'application/octet-stream', fileType: 'other' }

/** Looks at a file while it passes, and breaks it off where the rules do not let it in. */
export class FileInspector {
  readonly #rules: FileRules
  readonly #isCiphertext: boolean
  #kind: FileKind | undefined

  constructor(rules: FileRules, isCiphertext: boolean) {
    this.#rules = rules
    this.#isCiphertext = isCiphertext
  }

  /** Known once the bytes have passed. */
  get kind(): FileKind {
    if (!this.#kind) throw new Error('the file has not passed yet')
    return this.#kind
  }

  /** The same bytes. Nothing of a file passes before its kind is known. */
  async *inspect(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
    let head: Uint8Array[] = []
    let seen = 0
    for await (const part of content) {
      seen += part.length
      if (seen > this.#rules.maxFileSize) throw tooLarge(this.#rules)
      if (this.#kind) yield part
      else head.push(part)
      if (this.#kind || seen < HEAD) continue
      await this.#look(head)
      yield* head
      head = []
    }
    if (seen === 0) throw new Problem('invalid', { issues: [{ path: ['file'], message: 'must not be empty' }] })
    if (!this.#kind) await this.#look(head)
    yield* head
  }

  async #look(head: readonly Uint8Array[]): Promise<void> {
    const kind = this.#isCiphertext ? ciphertext : await kindOf(Buffer.concat(head))
    const isTaken = this.#isCiphertext || (kind && this.#rules.allowedMimeTypes.includes(kind.mime))
    if (!kind || !isTaken) throw notTaken(kind)
    this.#kind = kind
  }
}

export const tooLarge = ({ maxFileSize }: FileRules) =>
  new Problem('too_large', { detail: `A file has at most ${maxFileSize} bytes.` })

const notTaken = (kind: FileKind | undefined) =>
  new Problem('unsupported_media_type', {
    detail: `Files of ${kind ? `the kind ${kind.mime}` : 'this kind'} are not taken; the configuration block storage_files lists those that are.`,
  })
