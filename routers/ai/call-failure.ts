import type { Context } from '../core/context.ts'
import { type ErrorCode, type Issue, Problem } from '../core/problems.ts'
import type { CallableModel, ProviderReason } from '../ports/ai/models.ts'
import { UnreadFile } from '../ports/ai/stored-bytes.ts'

type Logging = Pick<Context, 'services' | 'requestId'>
type Telling = Logging & Pick<Context, 'hints'>

const REFUSED = 'The AI provider did not take the request.'

const codes = {
  rate_limited: 'provider_rate_limited',
  quota: 'provider_quota_exceeded',
  misconfigured: 'provider_misconfigured',
} as const satisfies Partial<Record<ProviderReason, ErrorCode>>

interface FailedCall {
  model: CallableModel
  /** What the caller is told of input that is too long. */
  inputPath?: Issue['path'] | undefined
}

/** A failed call as its caller is told of it. */
export function callFailure(ctx: Telling, { model, inputPath = ['messages'] }: FailedCall, error: unknown): Problem {
  const unread = unreadFileIn(error)
  if (unread) return fileFailure(ctx, unread)
  logFailure(ctx, model, { error, what: 'the AI provider failed' })
  const { models } = ctx.services
  const { reason, retryAfterSeconds } = models.refusalReason(error)
  if (retryAfterSeconds !== undefined) ctx.hints.retryAfterSeconds = retryAfterSeconds
  if (reason === 'too_long') return tooLong(inputPath, error)
  // Whoever waits as long as the provider says may be answered.
  if (reason === 'rate_limited') ctx.hints.isFinal = false
  if (reason) return new Problem(codes[reason], { cause: error })
  const isFinal = models.wouldFailAgain(error)
  return new Problem('provider_failed', { cause: error, isFinal, ...(isFinal && { detail: REFUSED }) })
}

function tooLong(path: Issue['path'], cause: unknown): Problem {
  const message = 'is more input than the model takes'
  return new Problem('context_length_exceeded', { issues: [{ path, message, reason: 'too_long' }], cause })
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
