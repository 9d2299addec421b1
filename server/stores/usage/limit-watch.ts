import { noticeLimits, type ReachedLimit } from '../../../entities/ai/usage-notice.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { Log } from '../../../routers/ports/log.ts'

/** How long the counters of ended calls are gathered before somebody looks at them, in milliseconds. */
const GATHER_MS = 1000

interface LimitWatchOptions {
  sql: Sql
  log: Log
  /** Called once for each limit, period and part, on one of the replicas. */
  onReached(limit: ReachedLimit): void
}

/** Checks, after the answers, whether limits are nearly or wholly used up. */
export class LimitWatch {
  readonly #options: LimitWatchOptions
  readonly #grown = new Set<number>()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> = Promise.resolve()

  constructor(options: LimitWatchOptions) {
    this.#options = options
  }

  /** Takes counters whose use has grown. */
  add(counters: readonly number[]): void {
    for (const counter of counters) this.#grown.add(counter)
    if (this.#grown.size > 0) this.#timer ??= setTimeout(() => void this.look(), GATHER_MS).unref()
  }

  /** Looks now, and waits for it. */
  look(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running = this.#running.then(() => this.#tell())
    return this.#running
  }

  async #tell(): Promise<void> {
    const counters = [...this.#grown]
    this.#grown.clear()
    if (counters.length === 0) return
    try {
      for (const reached of await this.#options.sql(noticeLimits, [counters])) this.#options.onReached(reached)
    } catch (error) {
      this.#options.log.warn({ error }, 'nobody could be told of limits that are used up')
      this.add(counters)
    }
  }
}
