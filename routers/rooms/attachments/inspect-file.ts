import { tooLarge } from '../../core/incoming-file.ts'
import { Problem } from '../../core/problems.ts'
import type { FileRules } from '../../core/settings.ts'
import { type FileKind, isTextual, kindOf } from './file-kind.ts'
import { textWatch } from './text-kind.ts'

/** As much as is looked at to tell the kind of a file. */
const HEAD = 64 * 1024

const ciphertext: FileKind = { mime: 'application/octet-stream', fileType: 'other' }

/** Looks at a file while it passes, and breaks it off where the rules do not let it in. */
export class FileInspector {
  readonly #rules: FileRules
  readonly #isCiphertext: boolean
  #kind: FileKind | undefined
  /** Of a text, whether what follows its beginning is text, too. */
  #goesOn: ((part: Uint8Array) => boolean) | undefined

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
      if (this.#kind) yield this.#assertGoesOn(part)
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
    const bytes = Buffer.concat(head)
    const kind = this.#isCiphertext ? ciphertext : await kindOf(bytes)
    const isTaken = this.#isCiphertext || (kind && this.#rules.allowedMimeTypes.includes(kind.mime))
    if (!kind || !isTaken) throw notTaken(kind)
    if (isTextual(kind.mime)) this.#goesOn = textWatch(bytes)
    this.#assertGoesOn(bytes)
    this.#kind = kind
  }

  /** Throws where a file that began as text goes on as something else. */
  #assertGoesOn(part: Uint8Array): Uint8Array {
    if (this.#goesOn && !this.#goesOn(part)) throw notTaken(undefined)
    return part
  }
}

const notTaken = (kind: FileKind | undefined) =>
  new Problem('unsupported_media_type', {
    detail: `Files of ${kind ? `the kind ${kind.mime}` : 'this kind'} are not taken; the configuration block storage_files lists those that are.`,
  })
