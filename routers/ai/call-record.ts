import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { Context } from '../core/context.ts'
import { type ErrorCode, type Issue, Problem } from '../core/problems.ts'
import type { CallableModel, ProviderReason } from '../ports/ai/models.ts'
import { FileReadError } from '../ports/ai/prompt-files.ts'
import type { Reservation } from '../ports/ai/usage-ledger.ts'
import { findCurrentSpan, iterateWithin, runWithin, type Span } from '../ports/traces.ts'
import { type CallMeter, LimitCut } from './call-meter.ts'
import { quotaProblem } from './reservation.ts'

export type RecordedContext = Pick<Context, 'services' | 'requestId' | 'hints'>

interface Recorded {
  operation: 'chat' | 'embeddings'
  reservation: Reservation
  meter: CallMeter
  model: CallableModel
  /** Where in the request its input is, which may be too long. */
  inputPath?: Issue['path']
  /** Ends when the caller goes away. */
  signal: AbortSignal
  /** Let go of when the call is over. */
  held?: Disposable
}

/** The one usage record of a call, however it ends. */
export class CallRecord {
  readonly #ctx: RecordedContext
  readonly #call: Recorded
  readonly #started = performance.now()
  #span: Span | undefined
  #isWritten = false

  constructor(ctx: RecordedContext, call: Recorded) {
    this.#ctx = ctx
    this.#call = call
  }

  /** Asks for it as a part of the call. */
  runWithin<T>(ask: () => T): T {
    return runWithin(this.#beginSpan(), ask)
  }

  /** Reads each step as a part of the call. */
  iterateWithin<T>(steps: AsyncIterable<T>): AsyncIterable<T> {
    const span = this.#beginSpan()
    span?.set({ 'gen_ai.request.stream': true })
    return iterateWithin(span, steps)
  }

  /** Only where the model is asked: a call may be reserved for in a request and made after its end. */
  #beginSpan(): Span | undefined {
    this.#span ??= beginCallSpan(this.#call.operation, this.#call.model)
    return this.#span
  }

  /** Commits what is reserved; only the first end counts. */
  write(outcome: Outcome): void {
    if (this.#isWritten) return
    this.#isWritten = true
    const { reservation, meter, model, held } = this.#call
    held?.[Symbol.dispose]()
    const durationMs = Math.round(performance.now() - this.#started)
    const { bill, firstPieceAt } = meter
    const firstPieceMs = firstPieceAt === undefined ? null : Math.round(firstPieceAt - this.#started)
    this.#ctx.services.usageLedger.commit(reservation, { ...bill, outcome, durationMs, firstPieceMs })
    const { modelId, providerId: provider } = model
    const measured = { outcome, firstPieceMs: firstPieceMs ?? undefined }
    this.#ctx.services.metrics.countCall({ ...bill, ...measured, durationMs, model: modelId, provider })
    if (this.#span) endCallSpan(this.#span, { ...measured, bill })
    for (const reported of meter.implausible)
      this.#ctx.services.log.warn(
        { requestId: this.#ctx.requestId, provider: model.providerId, model: model.modelId, reported },
        'a provider counted more than it was sent and has sent: its counts are cut',
      )
  }

  /** Another call takes the place of this one, which failed, and is as if it had not been made. */
  drop(error: unknown): void {
    this.#isWritten = true
    callFailure({ ...this.#ctx, hints: {} }, this.#call, error)
    this.#span?.fail(error)
    this.#span?.end()
  }

  /** Asks no provider for a caller who went away while the call was reserved for. */
  assertCaller(): void {
    if (!this.#call.signal.aborted) return
    this.write('aborted')
    throw new Problem('client_gone')
  }

  /** Writes that the call failed, and returns what its caller is told. */
  fail(error: unknown): Problem {
    if (error instanceof LimitCut) {
      this.write('cut')
      const refused = error.quota ? quotaProblem(this.#ctx, error.quota) : new Problem('unavailable')
      // Who repeats the call pays again for the rounds that were made.
      this.#ctx.hints.isFinal = true
      return refused
    }
    const problem = this.problem(error)
    this.write(this.#call.signal.aborted ? 'aborted' : 'failed')
    return problem
  }

  problem(error: unknown): Problem {
    const { aborted, reason } = this.#call.signal
    if (aborted) return reason instanceof Problem ? reason : new Problem('client_gone', { cause: error })
    this.#ctx.hints.isFinal = true
    const problem = callFailure(this.#ctx, this.#call, error)
    this.#span?.fail(problem)
    return problem
  }
}

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
  const { reason, retryAfterSeconds } = models.classifyRefusal(error)
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
function unreadFileIn(error: unknown): FileReadError | undefined {
  if (error instanceof FileReadError) return error
  return error instanceof Error ? unreadFileIn(error.cause) : undefined
}

function fileFailure({ services: { log }, requestId }: Logging, { reason }: FileReadError): Problem {
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

/** The words of the conventions for providers that have one. */
const providers: Partial<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
}

/** Begins the span of a call of a model, over all of its rounds, by the GenAI conventions of OpenTelemetry. */
const beginCallSpan = (
  operation: 'chat' | 'embeddings',
  { modelId, providerId, adapter }: CallableModel,
): Span | undefined =>
  findCurrentSpan()?.begin(`${operation} ${modelId}`, {
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': providers[adapter] ?? providerId,
      'gen_ai.request.model': modelId,
    },
  })

interface EndedCall {
  outcome: Outcome
  bill: CallMeter['bill']
  firstPieceMs: number | undefined
}

function endCallSpan(span: Span, { outcome, bill, firstPieceMs }: EndedCall): void {
  span.set({
    'svc.outcome': outcome,
    'gen_ai.usage.input_tokens': bill.inputTokens,
    'gen_ai.usage.output_tokens': bill.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': bill.cachedTokens,
    'gen_ai.usage.cache_creation.input_tokens': bill.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': bill.reasoningTokens,
    'gen_ai.response.time_to_first_chunk': firstPieceMs === undefined ? undefined : firstPieceMs / 1000,
  })
  span.end()
}
