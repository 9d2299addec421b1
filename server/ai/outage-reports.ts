import type { Log } from '../../routers/ports/log.ts'
import type { Metrics } from '../../routers/ports/metrics.ts'

/** Gets the outages that the calls of this process detect. */
export interface OutageListener {
  /**
   * All servers of the provider reject calls; after `retryAfter` milliseconds one of them is probed. `isAgain` is true
   * if the outage was reported before and the probe failed.
   */
  beginOutage(outage: { provider: string; retryAfter: number; isAgain: boolean }): Promise<unknown>
  /** A server of the provider responded again, or the provider has other servers now. */
  endOutage(outage: { provider: string }): Promise<unknown>
}

type Report = (listener: OutageListener) => Promise<unknown>

/** Reports outages in the background, in order for each provider; only the newest report of a provider is kept. */
export class OutageReports {
  readonly #log: Log
  readonly #metrics: Metrics
  readonly #queued = new Map<string, Report>()
  readonly #delivering = new Set<string>()
  /** Providers whose outage this process has reported, but not its end. */
  readonly #reported = new Set<string>()
  /** Providers with an outage that any process has reported, with the time at which this process learned of it. */
  #knownOutages = new Map<string, number>()
  #listener: OutageListener | undefined

  constructor(log: Log, metrics: Metrics) {
    this.#log = log
    this.#metrics = metrics
  }

  /** Without a listener nothing is reported, as a command that calls a provider should not. */
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

  /** Ends a known outage, even of another process, if the successful call started after it. */
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
        this.#log.warn({ provider, error }, 'the outage of an AI provider could not be recorded'),
      )
    }
    this.#delivering.delete(provider)
  }
}
