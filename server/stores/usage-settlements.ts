import { correctLost } from '../../entities/ai/usage-correction.sql.ts'
import { closeStripes } from '../../entities/ai/usage-counter.sql.ts'
import { EXPIRED_PAGE, listExpiredHolds } from '../../entities/ai/usage-lease.sql.ts'
import { type Settlement, settle } from '../../entities/ai/usage-settlement.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Log } from '../../routers/ports/log.ts'
import { Batch } from './write-behind.ts'

/** A call that has ended, with the counters that it held a part of, and how much of those in money. */
type Ended = Settlement & { counters: readonly number[]; heldMicros: number | null }

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

  /** The holds of calls that ended, and of which the database does not know it yet. */
  get unwritten(): number[] {
    return this.#batch.unwritten.map(({ id }) => id)
  }

  /** Settles the calls of processes that are gone, at what they had delivered when they last said so; not those of this one. */
  async settleExpired(ownHolds: () => readonly number[]): Promise<void> {
    for (let last = 0; ; ) {
      const expired = await this.#options.sql(listExpiredHolds, [last])
      const own = new Set(ownHolds())
      for (const call of expired)
        if (!own.has(call.id))
          this.add({ ...call, outcome: 'lost', estimated: true, heldMicros: call.costMicros, expiredOnly: true })
      await this.flush()
      if (expired.length < EXPIRED_PAGE) return
      last = expired.at(-1)?.id ?? Infinity
    }
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
    const [settled] = await sql(settle, valuesOf(items))
    this.#noteOverdrawn(settled?.overdrawn)
    const unheld = new Set(settled?.unheld)
    if (unheld.size > 0) await this.#correct(items.filter(({ id }) => unheld.has(id)))
    onGrown(items.flatMap(({ counters }) => counters))
    await this.closeOverdrawn()
  }

  /** Puts right what another process settled while this one was silent; harmless where a call is settled twice. */
  async #correct(items: readonly Ended[]): Promise<void> {
    const { sql, log } = this.#options
    const parts = items.flatMap(({ id, counters }) => counters.map((counter) => ({ id, counter })))
    const [corrected] = await sql(correctLost, [
      ...valuesOf(items),
      items.map(({ heldMicros }) => heldMicros),
      parts.map(({ id }) => id),
      parts.map(({ counter }) => counter),
    ])
    this.#noteOverdrawn(corrected?.overdrawn)
    const unknown = corrected?.unknown
    if (unknown) log.error({ calls: unknown }, 'calls that were made have neither holds nor records')
  }

  #noteOverdrawn(counters: readonly number[] | null | undefined): void {
    for (const counter of counters ?? []) this.#overdrawn.add(counter)
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
