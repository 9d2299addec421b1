import { isDeepStrictEqual } from 'node:util'
import type { StoredResponse } from '../../routers/core/idempotency.ts'

interface SharedAnswer {
  output: unknown
  answer: Promise<StoredResponse>
}

/**
 * Answers to reads that are written once for all who ask for one address in one turn of the event loop and are shown the
 * same: the rows are compared, not the callers. Rows of a shared statement are the same objects; all others are compared value by
 * value.
 */
export class SharedAnswers {
  #written = new Map<string, SharedAnswer>()

  /** The answer for what the read of an address gave, which `write` makes unless there is one. */
  of(url: string, output: unknown, write: () => Promise<StoredResponse>): Promise<StoredResponse> {
    const known = this.#written.get(url)
    if (known && isDeepStrictEqual(known.output, output)) return known.answer
    if (this.#written.size === 0) setImmediate(() => this.#forget())
    const answer = write()
    this.#written.set(url, { output, answer })
    return answer
  }

  /** Another map: one that is cleared keeps its old tables, with all that they held, until they are old. */
  #forget(): void {
    this.#written = new Map()
  }
}
