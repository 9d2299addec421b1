import type { Readable } from 'node:stream'

/** What is in a stored file, which is read while it is sent and never held as a whole. */
export interface StoredBytes {
  bytes: number
  /** From the beginning, each time. */
  open(): Readable
  /** Of a PDF, as many as it has at least; undefined where they cannot be counted. Throws where it cannot be read. */
  pages(): Promise<number | undefined>
}

/** A stored file that could not be read while it was sent: no provider is at fault. */
export class UnreadFile extends Error {
  override name = 'UnreadFile'
  readonly phase = 'sending'
  /** What went wrong. It is not the cause, by which a failure of the store would pass for one of the provider. */
  readonly reason: unknown

  constructor(reason: unknown) {
    super('a stored file cannot be read')
    this.reason = reason
  }
}
