import { APICallError, TypeValidationError } from '@ai-sdk/provider'

/**
 * A provider's word in a stream, before any of an answer, that it gives none: nothing is paid. It says little of the server,
 * since a question can bring it about. The provider's message is left out, as it may quote the conversation.
 */
export class StreamRefusal extends Error {
  override name = 'StreamRefusal'
  /** As if it were told in place of the stream; undefined where the provider has no number for it. */
  readonly status: number | undefined

  constructor({ statusCode, code }: Told) {
    super('the provider refused in its stream')
    const status = Number(statusCode ?? code)
    this.status = Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined
  }
}

interface Told {
  statusCode?: unknown
  code?: unknown
}

/** The refusal that an error in a stream tells; undefined where the stream cannot be read. */
export function refusalIn(error: unknown): StreamRefusal | undefined {
  const told = TypeValidationError.isInstance(error) ? errorIn(error.value) : error
  const isTold = typeof told === 'object' && told !== null && (!(told instanceof Error) || isThrown(told))
  return isTold ? new StreamRefusal(told) : undefined
}

/** An event of an error that the SDK has no shape for. */
const errorIn = (event: unknown) => (event as { error?: unknown } | null)?.error

/** Whether the SDK threw a refusal that came in a stream: its errors about what it cannot read have no such status. */
export const isThrown = (error: unknown): error is APICallError =>
  APICallError.isInstance(error) && (error.statusCode ?? 0) >= 400
