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
import { phaseOf } from '../net/response-stream.ts'
import { Refusal } from './refusal.ts'

interface Attempting {
  userId: number
  signal: AbortSignal
}

/** Runs a call that has sent nothing to the caller yet: retries a transient failure, and fails at once while the provider's circuit is open. */
export type Guard = <T>(attempt: () => Promise<T>, by: Attempting) => Promise<T>

/** How many callers must time out before the circuit opens: the questions of a single person may simply take long. */
const MIN_UNANSWERED_USERS = 3

export function createGuard({ failures = 5, openFor = 15_000 }: ProviderSettings['circuit'] = {}): Guard {
  /** The callers who got no answer since the provider last answered anybody. */
  const unanswered = new Set<number>()
  const isUnwell = (error: unknown) => isOutage(error) || (isSilence(error) && isSilentForMany())
  const isSilentForMany = () => unanswered.size >= MIN_UNANSWERED_USERS || circuit.state === CircuitState.HalfOpen
  const circuit: CircuitBreakerPolicy = circuitBreaker(handleWhen(isUnwell), {
    halfOpenAfter: openFor,
    breaker: new ConsecutiveBreaker(failures),
  })
  circuit.onSuccess(() => unanswered.clear())

  return (attempt, { userId, signal }) =>
    again.execute(() => {
      // The library would let others wait for the one call that probes the provider.
      if (circuit.state === CircuitState.HalfOpen) throw new BrokenCircuitError()
      return circuit.execute(
        () =>
          attempt().catch((error: unknown) => {
            if (isSilence(error)) unanswered.add(userId)
            throw error
          }),
        signal,
      )
    }, signal)
}

/** The connection failed, or the provider says that it cannot work. */
const isOutage = (error: unknown) => (statusOf(error) ?? 0) >= 500 || phaseOf(error) === 'connecting'

/** The request was sent, but no byte of an answer came. */
const isSilence = (error: unknown) => phaseOf(error) === 'waiting'

/** A call whose provider asks for a longer pause than this is not retried. */
const MAX_RETRY_AFTER_MS = 5000

/** Backs off with decorrelated jitter, and for no less than the provider asks for. */
const obeying = (backoff: IBackoffFactory<unknown>): IBackoffFactory<IRetryBackoffContext<unknown>> => ({
  next(context) {
    const next = backoff.next(context)
    const { error } = context.result as { error?: unknown }
    return { ...obeying(next), duration: Math.max(next.duration, retryAfterOf(error)) }
  },
})

const again = retry(
  handleWhen((error) => isPassing(error) && retryAfterOf(error) <= MAX_RETRY_AFTER_MS),
  { maxAttempts: 2, backoff: obeying(new ExponentialBackoff({ initialDelay: 100, maxDelay: 2000 })) },
)

/** The last is Anthropic's for a service with too much to do. */
const passingStatus = new Set([408, 425, 429, 500, 502, 503, 504, 529])
const passingCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAI_AGAIN', 'UND_ERR_SOCKET'])

/**
 * Whether a failed call is retried. A time-out is not: its caller has waited long enough. Nor is an answer that broke off:
 * it would be paid twice.
 */
function isPassing(error: unknown): boolean {
  if (phaseOf(error) === 'reading') return false
  const status = statusOf(error)
  return status ? passingStatus.has(status) : passingCodes.has(networkCode(error) ?? '')
}

/** The request was sent, and the time to wait for the answer was up. */
export const isTimeout = (error: unknown) => timeoutCodes.has(networkCode(error) ?? '')

const timeoutCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

const statusOf = (error: unknown) => (error instanceof Refusal ? error.status : undefined)

/** In milliseconds from now; the header has seconds, or a date. */
function retryAfterOf(error: unknown): number {
  const header = error instanceof Refusal ? error.retryAfter : undefined
  if (!header) return 0
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now()
  return Number.isNaN(ms) ? 0 : Math.max(0, ms)
}

/** The error code of the system or of the connection pool, found anywhere in the chain of causes. */
function networkCode(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : cause ? networkCode(cause) : undefined
}
