import type { Readable } from 'node:stream'
import type { ByteRange } from '../ports/files/file-store.ts'

interface FileFacts {
  name: string
  mime: string
  bytes: number
  /** Stands for exactly these bytes. */
  tag: string
}

/** What a procedure answers with that sends a file. Where an answer must be JSON, it is the facts alone. */
export class FileContent {
  readonly facts: FileFacts
  /** The bytes, or a part of them. */
  readonly read: (range?: ByteRange) => Readable

  constructor(facts: FileFacts, read: (range?: ByteRange) => Readable) {
    this.facts = facts
    this.read = read
  }

  toJSON(): FileFacts {
    return this.facts
  }
}
