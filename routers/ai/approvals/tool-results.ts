import type { Services } from '../../core/services.ts'
import type { ToolOutcome } from '../../ports/ai/tools.ts'

const PURPOSE = 'tool-outcome'

/**
 * Maximum number of characters of a result that is stored in full, and of all results of one person within their
 * lifetime.
 */
const MAX_TEXT = 64 * 1024
const MAX_STORED = 2 * 1024 * 1024

/** Result for the model if a call has started, must not run again, and its outcome is unknown. */
export const UNKNOWN_RESULT: ToolOutcome = {
  text: 'This call was begun, and what came of it is not known: it may have done its work.',
  isError: true,
}

/** Returns a short replacement for an outcome that exceeds the quota. */
const toBriefOutcome = ({ isError }: ToolOutcome): ToolOutcome => ({
  text: isError
    ? 'This call was made and failed; what was told of it is too long to be told again.'
    : 'This call was made; its result is too long to be told again.',
  isError,
})

type Store = Pick<Services, 'stores' | 'limits' | 'log' | 'changes' | 'settings' | 'vault'>

/** Stores results of approved calls for callers who repeat the request, for example after a lost connection. */
export class ToolResultStore {
  readonly #services: Store
  readonly #person: number
  readonly #inFlight: InFlightCalls

  constructor(services: Store, person: number) {
    this.#services = services
    this.#person = person
    this.#inFlight = new InFlightCalls(services, person)
  }

  /** Announces the run before the claim is visible to others, who would otherwise take the call for lost. */
  announce = (id: string): Promise<void> => this.#inFlight.renewLease(id)

  /** Runs the call here and stores its outcome. An outcome that cannot be stored is returned only once. */
  runAndStore(id: string, run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    return this.#inFlight.withLease(id, async () => {
      const outcome = await run()
      await this.#store(id, outcome).catch((error: unknown) =>
        this.#services.log.warn({ error }, 'the outcome of a tool call could not be stored'),
      )
      this.#services.changes.notifier.notify(this.#buildKey(id))
      return outcome
    })
  }

  /**
   * Waits for the outcome of a call that runs elsewhere. If its process has died, the lease expires and the outcome is
   * unknown.
   */
  async waitForOutcome(id: string, signal: AbortSignal): Promise<ToolOutcome> {
    const readOutcome = async () => {
      // The order matters: a call is in flight until its outcome is stored.
      const isRunning = await this.#inFlight.has(id)
      return (await this.#find(id)) ?? (isRunning ? undefined : UNKNOWN_RESULT)
    }
    for (;;) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(LEASE_MS)])
      const outcome = await this.#services.changes.notifier.waitFor([this.#buildKey(id)], readOutcome, limit)
      if (outcome) return outcome
      if (signal.aborted) return UNKNOWN_RESULT
    }
  }

  async #find(id: string): Promise<ToolOutcome | undefined> {
    const { vault } = this.#services
    const { answers } = this.#services.stores
    const sealedOutcome = await answers.get(this.#buildKey(id))
    return sealedOutcome === undefined ? undefined : (JSON.parse(vault.open(sealedOutcome, PURPOSE)) as ToolOutcome)
  }

  async #store(id: string, outcome: ToolOutcome): Promise<void> {
    const { settings, vault } = this.#services
    const { answers } = this.#services.stores
    const { text, isError } = (await this.#fitsQuota(outcome)) ? outcome : toBriefOutcome(outcome)
    const sealedOutcome = vault.seal(JSON.stringify({ text, isError }), PURPOSE)
    await answers.set(this.#buildKey(id), sealedOutcome, settings.tools.questionLifetime)
  }

  async #fitsQuota({ text }: ToolOutcome): Promise<boolean> {
    const { settings } = this.#services
    const { limiter } = this.#services.limits
    if (text.length > MAX_TEXT) return false
    const seconds = Math.ceil(settings.tools.questionLifetime / 1000)
    const { remaining } = await limiter.consume(`tool-outcomes:${this.#person}`, MAX_STORED, seconds, text.length)
    return remaining >= 0
  }

  #buildKey(id: string): string {
    return `tool-outcome:${this.#person}:${id}`
  }
}

/** Lease of a call in flight and interval of its renewal, in milliseconds. */
const LEASE_MS = 15_000
const LEASE_RENEWAL_MS = 5000

/** A person's calls in flight on all replicas. The lease of a dead process expires. */
class InFlightCalls {
  readonly #services: Pick<Services, 'stores' | 'log'>
  readonly #person: number

  constructor(services: Pick<Services, 'stores' | 'log'>, person: number) {
    this.#services = services
    this.#person = person
  }

  async has(id: string): Promise<boolean> {
    return (await this.#services.stores.kv.get(this.#buildKey(id))) !== undefined
  }

  /** Marks the call as in flight for the duration of one lease. */
  renewLease = (id: string): Promise<void> => this.#services.stores.kv.set(this.#buildKey(id), '1', LEASE_MS)

  /** Renews the lease until the work ends. */
  async withLease<Result>(id: string, work: () => Promise<Result>): Promise<Result> {
    const renew = () =>
      this.renewLease(id).catch((error: unknown) =>
        this.#services.log.warn({ error }, 'the lease of a tool call could not be renewed'),
      )
    const timer = setInterval(renew, LEASE_RENEWAL_MS)
    try {
      return await work()
    } finally {
      clearInterval(timer)
    }
  }

  #buildKey(id: string): string {
    return `tool-running:${this.#person}:${id}`
  }
}
