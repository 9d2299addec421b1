import { commitLost, commitUsage, type ReachedLimit, type UsageCommit } from '../../entities/ai/usage-commit.sql.ts'
import { EXPIRED_PAGE, listExpiredReservations } from '../../entities/ai/usage-lease.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Log } from '../../routers/ports/log.ts'
import { Batch } from './write-behind.ts'

/** A call that has ended, with the counters of which it reserved a part. */
type Ended = UsageCommit & { counters: readonly number[] }

interface UsageWriterOptions {
  sql: Sql
  log: Log
  /** Called once for each limit and period of which so much is used. */
  onReached(limit: ReachedLimit): void
}

/** Commits calls behind their answers, many in one statement. */
export class UsageWriter {
  readonly #options: UsageWriterOptions
  readonly #batch: Batch<Ended>

  constructor(options: UsageWriterOptions) {
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

  /** The reservations of calls that ended, and of which the database does not know it yet. */
  get unwritten(): number[] {
    return this.#batch.unwritten.map(({ id }) => id)
  }

  /** Commits the calls of processes that are gone, at what they had delivered when they last said so; not those of this one. */
  async commitExpired(ownIds: () => readonly number[]): Promise<void> {
    for (let last = 0; ; ) {
      const expired = await this.#options.sql(listExpiredReservations, [last])
      const own = new Set(ownIds())
      for (const call of expired)
        if (!own.has(call.id)) this.add({ ...call, outcome: 'lost', estimated: true, expiredOnly: true })
      await this.flush()
      if (expired.length < EXPIRED_PAGE) return
      last = expired.at(-1)?.id ?? Infinity
    }
  }

  async #write(items: readonly Ended[]): Promise<void> {
    const { sql, onReached } = this.#options
    const [committed] = await sql(commitUsage, toColumns(items))
    for (const limit of committed?.reached ?? []) onReached(limit)
    const missing = new Set(committed?.missing)
    if (missing.size > 0) await this.#commitLost(items.filter(({ id }) => missing.has(id)))
  }

  /** Puts right what another process committed while this one was silent; harmless where a call is committed twice. */
  async #commitLost(items: readonly Ended[]): Promise<void> {
    const { sql, log, onReached } = this.#options
    const parts = items.flatMap(({ id, counters }) => counters.map((counter) => ({ id, counter })))
    const [corrected] = await sql(commitLost, [
      ...toColumns(items),
      parts.map(({ id }) => id),
      parts.map(({ counter }) => counter),
      parts.length,
    ])
    for (const limit of corrected?.reached ?? []) onReached(limit)
    const unknown = corrected?.unknown
    if (unknown) log.error({ calls: unknown }, 'calls that were made have neither reservations nor records')
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
] as const satisfies (keyof UsageCommit)[]

const toColumns = (items: readonly UsageCommit[]) => [
  ...columns.map((column) => items.map((item) => item[column])),
  items.length,
]
