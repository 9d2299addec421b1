import type { LimitLeft } from '../ports/ai/usage-ledger.ts'
import type { RateLimitStatus } from '../ports/rate-limiter.ts'
import { truncateIssues } from './issues.ts'
import { type Issue, MAX_ISSUES } from './problems.ts'

/** A position in a stream of the change log. */
export interface StreamPosition {
  stream: string
  epoch: string
  seq: number
}

/** A refusal for which a retry may be useless or due later. */
export interface RetryAdvice {
  /** True if a retry is useless: a limit is used up, or the provider was already retried. */
  isFinal?: boolean
  /** Seconds after which to retry, if this is not when the rate limit resets; null for never. */
  afterSeconds?: number | null
}

interface Notes {
  readonly rateLimit: RateLimitStatus | undefined
  readonly limits: readonly LimitLeft[]
  readonly retry: Readonly<RetryAdvice>
  /** Ignored members of the request, by their names. */
  readonly ignoredParameters: readonly string[]
  /** The model that answered in place of the one that was asked. */
  readonly answeredBy: string | undefined
  readonly mustClearSiteData: boolean
  readonly positions: readonly StreamPosition[]
}

/**
 * Collects what a response says beside its body: limits, retries, ignored members, the model that answered. Procedures
 * and facades write it here; only `facades/http/response-notes.ts` reads it.
 */
export class ResponseNotes {
  #rateLimit: RateLimitStatus | undefined
  #limits: readonly LimitLeft[] = []
  #retry: RetryAdvice = {}
  #ignored: readonly string[] = []
  #unsent: readonly string[] = []
  #answeredBy: string | undefined
  #mustClearSiteData = false
  #positions: readonly StreamPosition[] = []
  #reportedIssues = 0

  read(): Notes {
    return {
      rateLimit: this.#rateLimit,
      limits: this.#limits,
      retry: this.#retry,
      ignoredParameters: this.#ignored,
      answeredBy: this.#answeredBy,
      mustClearSiteData: this.#mustClearSiteData,
      positions: this.#positions,
    }
  }

  setRateLimit(status: RateLimitStatus): void {
    this.#rateLimit = status
  }

  /** Sets what is left of the usage limits that apply. */
  setLimits(limits: readonly LimitLeft[]): void {
    this.#limits = limits
  }

  /** Adds advice for clients that would retry; later advice replaces earlier. */
  adviseRetry(advice: RetryAdvice): void {
    this.#retry = { ...this.#retry, ...advice }
  }

  setIgnoredParameters(names: readonly string[]): void {
    this.#ignored = names
  }

  /** Sets the parameters that are not sent to the model, by our own names. */
  setUnsentParameters(names: readonly string[]): void {
    this.#unsent = names
  }

  addUnsentParameter(name: string): void {
    this.#unsent = [...this.#unsent, name]
  }

  /** Counts the unsent parameters among the ignored ones, by the names that the client knows. */
  ignoreUnsentParameters(toClientName: (name: string) => string): void {
    this.#ignored = [...new Set([...this.#ignored, ...this.#unsent.map(toClientName)])]
  }

  /** Sets the model that answers in place of the one that was asked. */
  setAnsweredBy(model: string): void {
    this.#answeredBy = model
  }

  /** Makes the browser delete all data of a person. */
  clearSiteData(): void {
    this.#mustClearSiteData = true
  }

  /** Adds positions of the change log after writes, for callers that receive them. */
  addPositions(positions: readonly StreamPosition[]): void {
    this.#positions = [...this.#positions, ...positions]
  }

  /** Returns as many of the issues as the response still has room for; the calls of a batch share one response. */
  limitIssues(issues: readonly Issue[]): Issue[] {
    const limited = truncateIssues(issues, MAX_ISSUES - this.#reportedIssues)
    this.#reportedIssues += limited.length
    return limited
  }
}
