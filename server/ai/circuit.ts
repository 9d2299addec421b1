import {
  BrokenCircuitError,
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
  type IBackoffFactory,
  type IRetryBackoffContext,
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

/** How many callers must time out before the circuit opens: the questions of a single person may simply take long. */
const MIN_TIMED_OUT_USERS = 3

export interface CircuitEvents {
  /** The circuit opened, also once more after a try in vain, or closed. */
  onChange(): void
  /** A call that failed for a moment is tried again. */
  onRetry(): void
  /** A call was answered that was begun at this time. */
  onAnswer(startedAt: number): void
}

/** Runs calls that have sent nothing to the caller yet, and fails them at once while the circuit of the server is open. */
export class CircuitBreaker {
  readonly #events: CircuitEvents
  readonly #circuit: CircuitBreakerPolicy
  /** After how many milliseconds an open circuit lets the server be tried again. */
  readonly openFor: number
  /** The callers who got no answer since the provider last answered anybody. */
  readonly #timedOutUsers = new Set<number>()
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
    // The library would let others wait for the one call that probes the provider.
    if (this.#circuit.state === CircuitState.HalfOpen) throw new BrokenCircuitError()
    const startedAt = Date.now()
    const answer = await this.#circuit.execute(
      () =>
        attempt().catch((error: unknown) => {
          if (isTimeoutBeforeResponse(error)) this.#timedOutUsers.add(userId)
          throw error
        }),
      signal,
    )
    // To clear an empty set would build it anew for each call.
    if (this.#timedOutUsers.size > 0) this.#timedOutUsers.clear()
    this.#events.onAnswer(startedAt)
    return answer
  }

  /** Retries a transient failure. */
  runWithRetry<T>(attempt: () => Promise<T>, caller: CallerContext): Promise<T> {
    return retryPolicy.execute(({ attempt: tries }) => {
      if (tries > 0) this.#events.onRetry()
      return this.run(attempt, caller)
    }, caller.signal)
  }

  /** Whether calls fail at once: not where the time to try the server again has come. */
  get isRejecting(): boolean {
    // The library closes a circuit by a call alone.
    const isProbeDue = this.#circuit.state === CircuitState.Open && Date.now() - this.#openedAt >= this.openFor
    return this.isBroken && !isProbeDue
  }

  /** Whether nothing has answered since the circuit opened. */
  get isBroken(): boolean {
    return this.#circuit.state !== CircuitState.Closed
  }

  #countsAsFailure(error: unknown): boolean {
    return (
      isOutage(error) ||
      (isTimeoutBeforeResponse(error) && this.#timedOutUsers.size >= MIN_TIMED_OUT_USERS) ||
      // Whatever ends a trial before the server has spoken proves it no better.
      (this.#circuit.state === CircuitState.HalfOpen && !hasResponded(error))
    )
  }
}

/** What another server, or the provider of another model, may answer: the question is not at fault, and nobody works on it. */
export function isProvidersFault(error: unknown): boolean {
  if (error instanceof BrokenCircuitError) return true
  if (error instanceof ProviderStatusError || error instanceof ProviderReportedError)
    return !clientErrorStatuses.has(error.status ?? 0)
  if (isTruncated(error)) return false
  return findPhase(error) === 'connecting' || transientCodes.has(findErrorCode(error) ?? '')
}

/** A refusal of the key or of the name of a model is the fault of who wrote the configuration. */
const clientErrorStatuses = new Set([400, 413, 415, 422])

/** A refusal of the request, of the key or of the name of the model, and not for now alone. */
export function wouldFailAgain(error: unknown): boolean {
  const status =
    error instanceof ProviderStatusError || error instanceof ProviderReportedError ? error.status : undefined
  return status !== undefined && status < 500 && !transientStatuses.has(status)
}

/** Why the provider refused, and after how many seconds it wants to be asked again, where it says so. */
export function refusalReason(error: unknown): RefusalReason {
  if (!(error instanceof ProviderStatusError || error instanceof ProviderReportedError)) return {}
  const seconds = Math.ceil(readRetryAfter(error) / 1000)
  return {
    ...(error.reason && { reason: error.reason }),
    ...(seconds > 0 && { retryAfterSeconds: Math.min(seconds, MAX_RETRY_AFTER_SECONDS) }),
  }
}

/** Nobody waits for longer than a day. */
const MAX_RETRY_AFTER_SECONDS = 86_400

/** The connection failed, or the provider says that it cannot work. */
const isOutage = (error: unknown) => (statusOf(error) ?? 0) >= 500 || findPhase(error) === 'connecting'

/** An answer came, but not all of it: it may be paid, and another one would be, too. */
export const isTruncated = (error: unknown) => findPhase(error) === 'reading'

/** The request was sent, but no byte of an answer came. */
const isTimeoutBeforeResponse = (error: unknown) => findPhase(error) === 'waiting'

/** Something came, be it a refusal. A caller who goes away, or a file that cannot be read, ends a call before that. */
const hasResponded = (error: unknown) =>
  error instanceof ProviderStatusError || error instanceof ProviderReportedError || isTruncated(error)

/** A call whose provider asks for a longer pause than this is not retried. */
const MAX_RETRY_AFTER_MS = 5000

/** Backs off with decorrelated jitter, and for no less than the provider asks for. */
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

/** The last is Anthropic's for a service with too much to do. */
const transientStatuses = new Set([408, 425, 429, 500, 502, 503, 504, 529])
const transientCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAI_AGAIN', 'UND_ERR_SOCKET'])

/**
 * Whether a failed call is retried. A time-out is not: its caller has waited long enough. Nor is an answer that broke off:
 * it would be paid twice.
 */
function isTransient(error: unknown): boolean {
  // An account without money has none a second later.
  if (isTruncated(error) || (error instanceof ProviderStatusError && permanentReasons.has(error.reason))) return false
  const status = statusOf(error)
  return status ? transientStatuses.has(status) : transientCodes.has(findErrorCode(error) ?? '')
}

const permanentReasons: ReadonlySet<unknown> = new Set<ProviderReason>(['quota', 'too_long', 'misconfigured'])

/** The request was sent, and the time to wait for the answer was up. */
export const isTimeout = (error: unknown) => timeoutCodes.has(findErrorCode(error) ?? '')

const timeoutCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

const statusOf = (error: unknown) => (error instanceof ProviderStatusError ? error.status : undefined)

/** In milliseconds from now; the header has seconds, or a date. */
function readRetryAfter(error: unknown): number {
  const header = error instanceof ProviderStatusError ? error.retryAfter : undefined
  if (!header) return 0
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? 0 : Math.max(0, ms)
}

/** The error code of the system or of the connection pool, found anywhere in the chain of causes. */
function findErrorCode(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : cause ? findErrorCode(cause) : undefined
}
