import type { Unreadable as Reason } from '../../../routers/ports/files/text-extractor.ts'

/** Ends an extraction: the file gives no text, for this reason. */
export class Unreadable extends Error {
  override name = 'Unreadable'
  readonly reason: Reason

  constructor(reason: Reason, cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
  }
}
