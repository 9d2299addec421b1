import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
  type IBackoffFactory,
  type IRetryBackoffContext,
  isBrokenCircuitError,
  retry,
} from 'cockatiel'
import type { ProviderSettings } from '../../entities/catalogue/ai-provider.ts'
import type { ProviderReason, RefusalReason } from '../../routers/ports/ai/models.ts'
import { findPhase } from '../net/response-handler.ts'
import { ProviderReportedError, ProviderStatusError } from './provider-errors.ts'

export interface CallerContext {
  userId: number
  signal: AbortSignal
}

/** Number of users whose calls must time out before the circuit opens. One user alone may just ask slow questions. */
const MIN_TIMED_OUT_USERS = 3

/** Number of users who must get a server error before the circuit opens. One user's question may cause each of them. */
const MIN_FAILED_USERS = 2

/** A call that is rejected because the circuit is open. */
class ProviderPausedError extends Error {
  override name = 'ProviderPausedError'
  /** Milliseconds until the next probe; undefined while one is running. */
  readonly retryAfterMs: number | undefined

  constructor(retryAfterMs?: number) {
    super('the provider is paused after failures')
    this.retryAfterMs = retryAfterMs
  }
}

export interface CircuitEvents {
  /** Called when the circuit opens, opens again after a failed probe, or closes. */
  onChange(): void
  /** Called before a call is retried after a transient failure. */
  onRetry(): void
  /** Called after a successful call, with the time at which that call started. */
  onAnswer(startedAt: number): void
}

/**
 * Circuit breaker of one server. It runs calls that have sent nothing to the caller yet and rejects them while the
 * circuit is open.
 */
export class CircuitBreaker {
  readonly #events: CircuitEvents
  readonly #circuit: CircuitBreakerPolicy
  /** Milliseconds from the opening of the circuit to the next probe. */
  readonly openFor: number
  /** Users whose calls have timed out since the last successful call. */
  readonly #timedOutUsers = new Set<number>()
  /** Users who have got a server error since then. */
  readonly #failedUsers = new Set<number>()
  #openedAt = 0

  constructor({ failures = 5, openFor = 15_000 }: ProviderSettings['circuit'] = {}, events: CircuitEvents) {
    this.#events = events
    this.openFor = openFor
    this.#circuit = circuitBreaker(
      handleWhen((error) => this.#countsAsFailure(error)),
      { halfOpenAfter: openFor, breaker: new ConsecutiveBreaker(failures) },
    )
    this.#circuit.onBreak(() => {
      this.#openedAt = Date.now()
      events.onChange()
    })
    this.#circuit.onReset(events.onChange)
  }

  async run<T>(attempt: () => Promise<T>, { userId, signal }: CallerContext): Promise<T> {
    // The library would let other calls wait for the one that probes the server.
    if (this.#circuit.state === CircuitState.HalfOpen) throw new ProviderPausedError()
    const startedAt = Date.now()
    const answer = await this.#execute(
      () =>
        attempt().catch((error: unknown) => {
          if (isTimeoutBeforeResponse(error)) this.#timedOutUsers.add(userId)
          if (isServerError(error)) this.#failedUsers.add(userId)
          throw error
        }),
      signal,
    )
    // Clearing an empty set would allocate for each call.
    if (this.#timedOutUsers.size > 0) this.#timedOutUsers.clear()
    if (this.#failedUsers.size > 0) this.#failedUsers.clear()
    this.#events.onAnswer(startedAt)
    return answer
  }

  async #execute<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T> {
    try {
      return await this.#circuit.execute(attempt, signal)
    } catch (error) {
      if (!isBrokenCircuitError(error)) throw error
      throw new ProviderPausedError(Math.max(0, this.#openedAt + this.openFor - Date.now()))
    }
  }

  /** Retries a call after a transient failure. */
  runWithRetry<T>(attempt: () => Promise<T>, caller: CallerContext): Promise<T> {
    return retryPolicy.execute(({ attempt: tries }) => {
      if (tries > 0) this.#events.onRetry()
      return this.run(attempt, caller)
    }, caller.signal)
  }

  /** True if calls are rejected at once: the circuit is open and the next probe is not due yet. */
  get isRejecting(): boolean {
    // The library leaves the open state only when a call is made.
    const isProbeDue = this.#circuit.state === CircuitState.Open && Date.now() - this.#openedAt >= this.openFor
    return this.isBroken && !isProbeDue
  }

  /** True if no call has succeeded since the circuit opened. */
  get isBroken(): boolean {
    return this.#circuit.state !== CircuitState.Closed
  }

  #countsAsFailure(error: unknown): boolean {
    return (
      // A failed connection counts for everybody: no question has reached the server, so none can be its cause.
      findPhase(error) === 'connecting' ||
      (isServerError(error) && this.#failedUsers.size >= MIN_FAILED_USERS) ||
      (isTimeoutBeforeResponse(error) && this.#timedOutUsers.size >= MIN_TIMED_OUT_USERS) ||
      // A probe proves that the server works again only if the server responds, and not with an error of its own.
      (this.#circuit.state === CircuitState.HalfOpen && (isServerError(error) || !hasResponded(error)))
    )
  }
}

/**
 * Returns true if another server or another model may succeed: the request is valid and the server is not working on
 * it.
 */
export function isProviderFault(error: unknown): boolean {
  if (error instanceof ProviderPausedError) return true
  if (error instanceof ProviderStatusError || error instanceof ProviderReportedError)
    return !clientErrorStatuses.has(error.status ?? 0)
  if (isTruncated(error)) return false
  return findPhase(error) === 'connecting' || transientCodes.has(findErrorCode(error) ?? '')
}

/** Statuses for which the request is at fault. A refused API key or model name is the configuration's fault instead. */
const clientErrorStatuses = new Set([400, 413, 415, 422])

/** Returns true if the provider permanently refuses the request, the API key or the model name. */
export function wouldFailAgain(error: unknown): boolean {
  const status =
    error instanceof ProviderStatusError || error instanceof ProviderReportedError ? error.status : undefined
  return status !== undefined && status < 500 && !transientStatuses.has(status)
}

/** Returns why the provider refused and, if that is known, after how many seconds to retry. */
export function classifyRefusal(error: unknown): RefusalReason {
  if (error instanceof ProviderPausedError) {
    const { retryAfterMs } = error
    return { reason: 'paused', ...(retryAfterMs !== undefined && { retryAfterSeconds: retryAfterMs / 1000 }) }
  }
  if (isTruncated(error)) return { reason: 'broke_off' }
  if (!(error instanceof ProviderStatusError || error instanceof ProviderReportedError)) return {}
  const seconds = readRetryAfter(error) / 1000
  return {
    ...(error.reason && { reason: error.reason }),
    ...(seconds > 0 && { retryAfterSeconds: Math.min(seconds, MAX_RETRY_AFTER_SECONDS) }),
  }
}

/** One day. */
const MAX_RETRY_AFTER_SECONDS = 86_400

const isServerError = (error: unknown) => (statusOf(error) ?? 0) >= 500

/** Only part of a response came. It may be billed, and so would be a retry. */
export const isTruncated = (error: unknown) => findPhase(error) === 'reading'

/** The request was sent, but no byte of the response came. */
const isTimeoutBeforeResponse = (error: unknown) => findPhase(error) === 'waiting'

/**
 * The server responded, perhaps with an error. A caller who disconnects or a file that cannot be read ends a call
 * before that.
 */
const hasResponded = (error: unknown) =>
  error instanceof ProviderStatusError || error instanceof ProviderReportedError || isTruncated(error)

/** A call is not retried if its provider asks for a longer delay than this. */
const MAX_RETRY_AFTER_MS = 5000

/** Uses decorrelated jitter, but waits at least as long as the provider asks. */
const withServerDelay = (backoff: IBackoffFactory<unknown>): IBackoffFactory<IRetryBackoffContext<unknown>> => ({
  next(context) {
    const next = backoff.next(context)
    const { error } = context.result as { error?: unknown }
    return { ...withServerDelay(next), duration: Math.max(next.duration, readRetryAfter(error)) }
  },
})

const retryPolicy = retry(
  handleWhen((error) => isTransient(error) && readRetryAfter(error) <= MAX_RETRY_AFTER_MS),
  { maxAttempts: 2, backoff: withServerDelay(new ExponentialBackoff({ initialDelay: 100, maxDelay: 2000 })) },
)

/** 529 is Anthropic's status for an overloaded service. */
const transientStatuses = new Set([408, 425, 429, 500, 502, 503, 504, 529])
const transientCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAI_AGAIN', 'UND_ERR_SOCKET'])

/**
 * Returns true if a failed call may be retried. Time-outs are not retried, since the caller has waited long enough, nor
 * are truncated responses, since both would be billed.
 */
function isTransient(error: unknown): boolean {
  // An account without credit will not have any a second later.
  if (isTruncated(error) || (error instanceof ProviderStatusError && permanentReasons.has(error.reason))) return false
  const status = statusOf(error)
  return status ? transientStatuses.has(status) : transientCodes.has(findErrorCode(error) ?? '')
}

const permanentReasons: ReadonlySet<unknown> = new Set<ProviderReason>([
  'quota',
  'too_long',
  'key_refused',
  'model_unknown',
])

/** The request was sent, but the response did not come in time. */
export const isTimeout = (error: unknown) => timeoutCodes.has(findErrorCode(error) ?? '')

const timeoutCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

const statusOf = (error: unknown) => (error instanceof ProviderStatusError ? error.status : undefined)

/** Returns the milliseconds that the provider asks to wait. */
const readRetryAfter = (error: unknown) => (error instanceof ProviderStatusError ? (error.retryAfterMs ?? 0) : 0)

/** Finds the error code of the system or of the connection pool in the chain of causes. */
function findErrorCode(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : cause ? findErrorCode(cause) : undefined
}
