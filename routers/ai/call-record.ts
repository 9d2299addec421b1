import type { Outcome } from '../../entities/ai/usage-record.ts'
import type { Context } from '../core/context.ts'
import { type ErrorCode, type Issue, Problem } from '../core/problems.ts'
import { ResponseNotes } from '../core/response-notes.ts'
import type { CallableModel, RefusalReason } from '../ports/ai/models.ts'
import { FileReadError } from '../ports/ai/prompt-files.ts'
import type { Reservation } from '../ports/ai/usage-ledger.ts'
import { findCurrentSpan, iterateWithin, runWithin, type Span } from '../ports/traces.ts'
import { type CallMeter, LimitCut } from './call-meter.ts'
import { toQuotaProblem } from './reservation.ts'

export type RecordedContext = Pick<Context, 'services' | 'requestId' | 'notes'>

interface RecordedCall {
  operation: 'chat' | 'embeddings'
  reservation: Reservation
  meter: CallMeter
  model: CallableModel
  /** Path of the input in the request, for issues about its length. */
  inputPath?: Issue['path']
  /** Aborts when the caller disconnects. */
  signal: AbortSignal
  /** Released when the call ends. */
  memory?: Disposable
}

/** Writes exactly one usage record for a call, however it ends. */
export class CallRecord {
  readonly #ctx: RecordedContext
  readonly #call: RecordedCall
  readonly #startedAt = performance.now()
  #span: Span | undefined
  #isWritten = false

  constructor(ctx: RecordedContext, call: RecordedCall) {
    this.#ctx = ctx
    this.#call = call
  }

  /** Runs the request within the span of the call. */
  runWithin<T>(ask: () => T): T {
    return runWithin(this.#beginSpan(), ask)
  }

  /** Reads each step of the stream within the span of the call. */
  iterateWithin<T>(steps: AsyncIterable<T>): AsyncIterable<T> {
    const span = this.#beginSpan()
    span?.set({ 'gen_ai.request.stream': true })
    return iterateWithin(span, steps)
  }

  /**
   * Begins the span when the model is asked: a call may be reserved in one HTTP request and made after that has ended.
   */
  #beginSpan(): Span | undefined {
    this.#span ??= beginCallSpan(this.#call.operation, this.#call.model)
    return this.#span
  }

  /** Commits the reservation. Only the first outcome counts. */
  write(outcome: Outcome): void {
    if (this.#isWritten) return
    this.#isWritten = true
    const { reservation, meter, model, memory } = this.#call
    memory?.[Symbol.dispose]()
    const durationMs = Math.round(performance.now() - this.#startedAt)
    const { usage, firstPieceAt } = meter
    const firstPieceMs = firstPieceAt === undefined ? null : Math.round(firstPieceAt - this.#startedAt)
    this.#ctx.services.ai.usageLedger.commit(reservation, { ...usage, outcome, durationMs, firstPieceMs })
    const { modelId, providerId: provider } = model
    const measurements = { outcome, firstPieceMs: firstPieceMs ?? undefined }
    this.#ctx.services.process.metrics.countCall({ ...usage, ...measurements, durationMs, model: modelId, provider })
    if (this.#span) endCallSpan(this.#span, { ...measurements, usage })
    for (const reported of meter.implausibleCounts)
      this.#ctx.services.log.warn(
        { requestId: this.#ctx.requestId, provider: model.providerId, model: model.modelId, reported },
        'a provider counted more than it was sent and has sent: its counts are cut',
      )
  }

  /** Discards the record because a fallback call replaces the failed one. */
  discard(error: unknown): void {
    this.#isWritten = true
    toFailureProblem({ ...this.#ctx, notes: new ResponseNotes() }, this.#call, error)
    this.#span?.fail(error)
    this.#span?.end()
  }

  /** Throws if the caller disconnected before the provider is asked. */
  assertCallerPresent(): void {
    if (!this.#call.signal.aborted) return
    this.write('aborted')
    throw new Problem('client_gone')
  }

  /** Records the failure and returns the problem for the caller. */
  fail(error: unknown): Problem {
    if (error instanceof LimitCut) {
      this.write('cut')
      const limitProblem = error.quota ? toQuotaProblem(this.#ctx, error.quota) : new Problem('unavailable')
      // A retry would pay again for the completed rounds.
      this.#ctx.notes.adviseRetry({ isFinal: true })
      return limitProblem
    }
    const problem = this.toProblem(error)
    this.write(this.#call.signal.aborted ? 'aborted' : 'failed')
    return problem
  }

  toProblem(error: unknown): Problem {
    const { aborted, reason } = this.#call.signal
    if (aborted) return reason instanceof Problem ? reason : new Problem('client_gone', { cause: error })
    this.#ctx.notes.adviseRetry({ isFinal: true })
    const problem = toFailureProblem(this.#ctx, this.#call, error)
    this.#span?.fail(problem)
    return problem
  }
}

type LogContext = Pick<Context, 'services' | 'requestId'>
type ResponseContext = LogContext & Pick<Context, 'notes'>

const REFUSED = 'The AI provider did not take the request.'

const problemCodes = {
  rate_limited: 'provider_rate_limited',
  quota: 'provider_quota_exceeded',
  key_refused: 'provider_key_refused',
  model_unknown: 'provider_model_unknown',
  paused: 'provider_paused',
  broke_off: 'provider_broke_off',
} as const satisfies Partial<Record<NonNullable<RefusalReason['reason']>, ErrorCode>>

interface FailedCall {
  model: CallableModel
  /** Path of the input in the request, for issues about its length. */
  inputPath?: Issue['path'] | undefined
}

/** Logs a failed call and returns the problem for its caller. */
function toFailureProblem(
  ctx: ResponseContext,
  { model, inputPath = ['messages'] }: FailedCall,
  error: unknown,
): Problem {
  const unreadFile = findUnreadFile(error)
  if (unreadFile) return toFileProblem(ctx, unreadFile)
  logFailure(ctx, model, { error, summary: 'the AI provider failed' })
  const { models } = ctx.services.ai
  const { reason, retryAfterSeconds } = models.classifyRefusal(error)
  if (retryAfterSeconds !== undefined) ctx.notes.adviseRetry({ afterSeconds: retryAfterSeconds })
  if (reason === 'too_long') return createTooLongProblem(inputPath, error)
  // A retry after the delay may succeed.
  if (reason === 'rate_limited' || reason === 'paused') ctx.notes.adviseRetry({ isFinal: false })
  if (reason) return new Problem(problemCodes[reason], { cause: error, meta: writeRetryTime(retryAfterSeconds) })
  const isFinal = models.wouldFailAgain(error)
  return new Problem('provider_failed', { cause: error, isFinal, ...(isFinal && { detail: REFUSED }) })
}

const writeRetryTime = (afterSeconds: number | undefined): Problem['meta'] =>
  afterSeconds === undefined ? {} : { retryAt: new Date(Date.now() + afterSeconds * 1000).toISOString() }

function createTooLongProblem(path: Issue['path'], cause: unknown): Problem {
  const message = 'is more input than the model takes'
  return new Problem('context_length_exceeded', { issues: [{ path, message, reason: 'too_long' }], cause })
}

/** Searches the whole chain of causes, because a provider may respond before it has read the whole body. */
function findUnreadFile(error: unknown): FileReadError | undefined {
  if (error instanceof FileReadError) return error
  return error instanceof Error ? findUnreadFile(error.cause) : undefined
}

function toFileProblem({ services: { log }, requestId }: LogContext, { reason }: FileReadError): Problem {
  log.error({ requestId, error: reason }, 'an attachment could not be read while it was sent')
  if (reason instanceof Problem) return reason
  return new Problem('internal', { detail: 'An attachment cannot be read.', cause: reason })
}

/** Logs a provider error without its text, which may quote the request. */
export function logFailure(
  { services: { log }, requestId }: LogContext,
  { providerId, modelId }: CallableModel,
  { error, summary }: { error: unknown; summary: string },
): void {
  const { name, message, statusCode, code } = describeError(error)
  log.warn(
    { requestId, provider: providerId, model: modelId, errorName: name, statusCode, code },
    `${summary}: ${message}`,
  )
}

/** Leaves out the provider's text and keeps only codes of our own or of the network. */
function describeError(error: unknown) {
  const { name, status: statusCode, code } = error as { name: string; status?: number; code?: unknown }
  const errorCode = typeof code === 'string' && /^[A-Z_0-9]+$/.test(code) ? code : undefined
  const message = statusCode ? `it answered with the status ${statusCode}` : (errorCode ?? name)
  return { name, message, statusCode, code: errorCode }
}

/** Provider names that the OpenTelemetry conventions define. */
const providerNames: Partial<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
}

/** Begins the span of a model call with all of its rounds, by the OpenTelemetry GenAI conventions. */
const beginCallSpan = (
  operation: 'chat' | 'embeddings',
  { modelId, providerId, adapter }: CallableModel,
): Span | undefined =>
  findCurrentSpan()?.begin(`${operation} ${modelId}`, {
    kind: 'client',
    attributes: {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': providerNames[adapter] ?? providerId,
      'gen_ai.request.model': modelId,
    },
  })

interface EndedCall {
  outcome: Outcome
  usage: CallMeter['usage']
  firstPieceMs: number | undefined
}

function endCallSpan(span: Span, { outcome, usage, firstPieceMs }: EndedCall): void {
  span.set({
    'svc.outcome': outcome,
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cachedTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': usage.reasoningTokens,
    'gen_ai.response.time_to_first_chunk': firstPieceMs === undefined ? undefined : firstPieceMs / 1000,
  })
  span.end()
}
