import { parsed } from '../../../routers/ports/ai/tool-calls.ts'
import type { Phase } from '../../net/exchange.ts'
import { type ProviderError, refusalOfWhole } from './refusal.ts'

/** What is thrown where an answer cannot be read: the refusal that it is, or that it is none. */
export function toUnparsable(cause: unknown, body?: string): ProviderError | UnparsableResponse {
  const answer = new UnparsableResponse(cause, body)
  const { responseBody } = answer
  return refusalOfWhole(typeof responseBody === 'string' ? parsed(responseBody) : responseBody) ?? answer
}

/** The same where this came in place of a stream, without any event. */
export const noStream = (body: string) => toUnparsable(new Error('the stream ended early'), body)

/**
 * An answer that has come and cannot be read. It is paid, so the call fails like one whose answer broke off. What was caught
 * is its cause and stays as it is: calls may share it, as all have one reason for a caller who goes away.
 */
export class UnparsableResponse extends Error {
  readonly phase: Phase = 'reading'
  /** The kind of the cause, which is logged. */
  readonly code: unknown
  /** The part that came; the AI SDK has it in its errors by the same name. */
  readonly responseBody: unknown

  constructor(cause: unknown, body?: string) {
    super('the answer cannot be read', { cause })
    const { name, code, responseBody } = (cause ?? {}) as Partial<UnparsableResponse>
    this.name = name ?? 'UnreadAnswer'
    this.code = code
    this.responseBody = body ?? responseBody
  }
}
