import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import type { CallableModel } from '../ports/ai/models.ts'
import { UnreadFile } from '../ports/ai/stored-bytes.ts'

type Logging = Pick<Context, 'services' | 'requestId'>

const REFUSED = 'The AI provider did not take the request.'

/** A failed call as its caller is told of it. */
export function callFailure(ctx: Logging, model: CallableModel, error: unknown): Problem {
  const unread = unreadFileIn(error)
  if (unread) return fileFailure(ctx, unread)
  logFailure(ctx, model, { error, what: 'the AI provider failed' })
  const isFinal = ctx.services.models.wouldFailAgain(error)
  return new Problem('provider_failed', { cause: error, isFinal, ...(isFinal && { detail: REFUSED }) })
}

/** Searches the whole chain of causes: a provider may answer before it has read all. */
function unreadFileIn(error: unknown): UnreadFile | undefined {
  if (error instanceof UnreadFile) return error
  return error instanceof Error ? unreadFileIn(error.cause) : undefined
}

function fileFailure({ services: { log }, requestId }: Logging, { reason }: UnreadFile): Problem {
  log.error({ requestId, error: reason }, 'an attachment could not be read while it was sent')
  if (reason instanceof Problem) return reason
  return new Problem('internal', { detail: 'An attachment cannot be read.', cause: reason })
}

/** What the provider said goes to the log by its kind only: it may quote the question. */
export function logFailure(
  { services: { log }, requestId }: Logging,
  { providerId, modelId }: CallableModel,
  { error, what }: { error: unknown; what: string },
): void {
  const { name, message, statusCode, code } = describe(error)
  log.warn({ requestId, provider: providerId, model: modelId, error: name, statusCode, code }, `${what}: ${message}`)
}

/** A provider's own words are left out; only our own and the network's errors have a message worth keeping. */
function describe(error: unknown) {
  const { name, status: statusCode, code } = error as { name: string; status?: number; code?: unknown }
  const word = typeof code === 'string' && /^[A-Z_0-9]+$/.test(code) ? code : undefined
  const message = statusCode ? `it answered with the status ${statusCode}` : (word ?? name)
  return { name, message, statusCode, code: word }
}
