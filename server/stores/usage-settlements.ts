import { closeStripes } from '../../entities/ai/usage-counter.sql.ts'
import { type Settlement, settle } from '../../entities/ai/usage-settlement.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Log } from '../../routers/ports/log.ts'
import { Batch } from './write-behind.ts'

/** A call that has ended, with the counters that it held a part of. */
export type Ended = Settlement & { counters: readonly number[] }

interface SettlementsOptions {
  sql: Sql
  log: Log
  /** Told of the counters whose use has grown. */
  onGrown(counters: readonly number[]): void
}

/** Settles calls behind their answers, many in one statement. */
export class Settlements {
  readonly #options: SettlementsOptions
  readonly #batch: Batch<Ended>
  /** Counters of which calls took more than their share, until the others of their limits are closed. */
  readonly #overdrawn = new Set<number>()

  constructor(options: SettlementsOptions) {
    this.#options = options
    this.#batch = new Batch({ name: 'usage', write: (items) => this.#write(items), log: options.log, gather: 5 })
  }

  add(ended: Ended): void {
    this.#batch.add(ended)
  }

  /** Waits until all that ended is in the database. */
  flush(): Promise<void> {
    return this.#batch.flush()
  }

  /** Has limits judged exactly of which a call took more than it held; what fails is tried again with the next calls. */
  async closeOverdrawn(): Promise<void> {
    const { sql, log } = this.#options
    if (this.#overdrawn.size === 0) return
    const counters = [...this.#overdrawn]
    try {
      await sql(closeStripes, [counters])
      for (const counter of counters) this.#overdrawn.delete(counter)
    } catch (error) {
      log.warn({ error }, 'limits of which calls took more than they held could not be closed')
    }
  }

  async #write(items: readonly Ended[]): Promise<void> {
    const { sql, onGrown } = this.#options
    const rows = await sql(settle, valuesOf(items))
    onGrown(items.flatMap(({ counters }) => counters))
    for (const { overdrawn } of rows) this.#overdrawn.add(overdrawn)
    await this.closeOverdrawn()
  }
}

/** In the order of the statement's values. */
const columns = [
  'id',
  'outcome',
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'webSearches',
  'webFetches',
  'estimated',
  'costMicros',
  'currency',
  'durationMs',
  'expiredOnly',
] as const satisfies (keyof Settlement)[]

const valuesOf = (items: readonly Settlement[]) => [
  ...columns.map((column) => items.map((item) => item[column])),
  items.length,
]
