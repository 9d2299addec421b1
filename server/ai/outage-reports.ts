import type { Log } from '../../routers/ports/log.ts'
import type { Metrics } from '../../routers/ports/metrics.ts'

/** What the calls of this process find out about providers. */
export interface OutageListener {
  /**
   * Every server of the provider fails its calls at once; after so many milliseconds one is tried again. `isAgain` where that
   * was told before, and the try was in vain.
   */
  beginOutage(outage: { provider: string; retryAfter: number; isAgain: boolean }): Promise<unknown>
  /** One of its servers answered again, or it has other servers now. */
  endOutage(outage: { provider: string }): Promise<unknown>
}

type Report = (listener: OutageListener) => Promise<unknown>

/** Passes on what becomes of providers, beside the calls that notice it: of each provider in order, and what is old is left out. */
export class OutageReports {
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #queued = new Map<string, Report>()
  readonly #delivering = new Set<string>()
  /** The providers whose outage this process has told of, and not the end of it. */
  readonly #reported = new Set<string>()
  /** The providers that have an outage, whichever process told of it, with the time when this one heard of it. */
  #knownOutages = new Map<string, number>()
  #listener: OutageListener | undefined

  constructor(log: Log, metrics: Metrics) {
    this.#log = log
    this.#metrics = metrics
  }

  /** Without a listener nothing is told: a command that asks a provider says nothing about the service. */
  listen(listener: OutageListener): void {
    this.#listener = listener
  }

  setKnownOutages(providers: readonly string[]): void {
    this.#knownOutages = new Map(
      providers.map((provider) => [provider, this.#knownOutages.get(provider) ?? Date.now()]),
    )
  }

  reportOutage(provider: string, retryAfter: number): void {
    this.#metrics.setProviderState(provider, true)
    this.#enqueue(provider, async (listener) => {
      const isAgain = this.#reported.has(provider)
      await listener.beginOutage({ provider, retryAfter: Math.ceil(retryAfter), isAgain })
      this.#reported.add(provider)
    })
  }

  countRetry(provider: string): void {
    this.#metrics.countRetry(provider)
  }

  /** A call was answered, which ends the outage that another process has told of, too, if the call was begun after it. */
  recordAnswer(provider: string, startedAt: number): void {
    if (startedAt >= (this.#knownOutages.get(provider) ?? Number.POSITIVE_INFINITY)) this.reportRecovery(provider)
  }

  reportRecovery(provider: string): void {
    this.#metrics.setProviderState(provider, false)
    this.#knownOutages.delete(provider)
    this.#enqueue(provider, (listener) => {
      this.#reported.delete(provider)
      return listener.endOutage({ provider })
    })
  }

  #enqueue(provider: string, report: Report): void {
    if (!this.#listener) return
    this.#queued.set(provider, report)
    if (!this.#delivering.has(provider)) void this.#deliver(provider, this.#listener)
  }

  async #deliver(provider: string, listener: OutageListener): Promise<void> {
    this.#delivering.add(provider)
    for (let report = this.#queued.get(provider); report; report = this.#queued.get(provider)) {
      this.#queued.delete(provider)
      await report(listener).catch((error: unknown) =>
        this.#log.warn({ provider, error }, 'the outage of an AI provider could not be written down'),
      )
    }
    this.#delivering.delete(provider)
  }
}
