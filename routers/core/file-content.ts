import type { Readable } from 'node:stream'
import type { ByteRange } from '../ports/files/file-store.ts'

interface FileFacts {
  name: string
  mime: string
  bytes: number
  /** Identifies exactly these bytes. */
  tag: string
}

/** The result of a procedure that sends a file. As JSON it is only the facts. */
export class FileContent {
  readonly facts: FileFacts
  /** Opens the bytes, or a range of them. */
  readonly read: (range?: ByteRange) => Readable

  constructor(facts: FileFacts, read: (range?: ByteRange) => Readable) {
    this.facts = facts
    this.read = read
  }

  toJSON(): FileFacts {
    return this.facts
  }
}
