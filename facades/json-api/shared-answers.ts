import { isDeepStrictEqual } from 'node:util'
import type { StoredResponse } from '../../routers/core/idempotency.ts'

/** An answer in the bytes that are sent, which are not made of its text again for each who is sent them. */
export type SharedResponse = Omit<StoredResponse, 'payload'> & { payload: Buffer }

interface SharedAnswer {
  output: unknown
  answer: Promise<SharedResponse>
}

/**
 * Answers to reads that are written once for all who ask for one address in one turn of the event loop and are shown the
 * same: the rows are compared, not the callers. Rows of a shared statement are the same objects; all others are compared value by
 * value.
 */
export class SharedAnswers {
  readonly #written = new Map<string, SharedAnswer>()

  /** The answer for what the read of an address gave, which `write` makes unless there is one. */
  share(url: string, output: unknown, write: () => Promise<StoredResponse>): Promise<SharedResponse> {
    const known = this.#written.get(url)
    if (known && isDeepStrictEqual(known.output, output)) return known.answer
    if (this.#written.size === 0) setImmediate(() => this.#written.clear())
    const answer = write().then(toBytes)
    this.#written.set(url, { output, answer })
    return answer
  }
}

const toBytes = (written: StoredResponse): SharedResponse => ({ ...written, payload: Buffer.from(written.payload) })
