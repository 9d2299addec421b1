import type { HttpClient } from '../../net/http-client.ts'
import { MAX_REFUSAL_BYTES } from '../../net/response-text.ts'
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
  /** Whether the question is refused for what is in it. */
  readonly isOfContent: boolean

  constructor(status: number, retryAfter?: string | null, body = '') {
    super(`status ${status}`)
    this.status = status
    this.retryAfter = retryAfter ?? undefined
    this.isOfContent = status === 400 && contentCode.test(body)
  }
}

/** Azure's word for it, which gateways in front of other providers have taken over. */
const contentCode = /"code"\s*:\s*"content_(?:filter|policy_violation)"/

const isAnswer = (status: number) => status >= 200 && status < 300

/** Throws a refusal, so that no SDK reads it, and notes any other answer. */
export const refusing =
  (fetch: HttpClient['fetch']): HttpClient['fetch'] =>
  async (input, init) => {
    const response = await fetch(input, init)
    if (isAnswer(response.status)) return noteAnswer(response)
    throw new Refusal(response.status, response.headers.get('retry-after'), await beginningOf(response.body))
  }

/** The beginning of what a provider says in a refusal. A longer one is not worth its connection. */
export async function beginningOf(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const chunk of body ?? []) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > MAX_REFUSAL_BYTES) break
    }
  } catch {
    // What has come must do.
  }
  return Buffer.concat(chunks).toString()
}
