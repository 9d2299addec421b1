import type { HttpClient } from '../../net/http-client.ts'
import { noteAnswer } from './unread.ts'

/**
 * A status of the provider's that is no answer, without its message, which may quote the conversation. An SDK has errors
 * with a status for what it cannot read, too, which say nothing of the provider's health.
 */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: number
  /** In seconds, or a date. */
  readonly retryAfter: string | undefined

  constructor(status: number, retryAfter?: string | null) {
    super(`status ${status}`)
    this.status = status
    this.retryAfter = retryAfter ?? undefined
  }
}

const isAnswer = (status: number) => status >= 200 && status < 300

/** Throws a refusal, so that no SDK reads it, and notes any other answer. */
export const refusing =
  (fetch: HttpClient['fetch']): HttpClient['fetch'] =>
  async (input, init) => {
    const response = await fetch(input, init)
    if (isAnswer(response.status)) return noteAnswer(response)
    // Read to its end, so that the connection can be used again.
    await response.arrayBuffer().catch(() => {})
    throw new Refusal(response.status, response.headers.get('retry-after'))
  }
