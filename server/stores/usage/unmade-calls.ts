import { releaseUnmade } from '../../../entities/ai/usage-settlement.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'

/** What is more than this is settled as lost when its lease ends. */
const MAX_CALLS = 20_000
/** In the meantime another call of the same request may have got its hold without this process having heard of it. */
const MIN_AGE_MS = 1000
/** How much later than its connection broke a statement may begin: it may be read late, and its moment is stored rounded. */
const BEGUN_LATE_MS = 500
/** How long a statement whose connection broke may still run. */
const MAX_AGE_MS = 60_000

/**
 * Calls that were never made, because the connection broke while they were held for, so that nobody knows whether they are.
 * Gives back what is held for them once the database answers.
 */
export class UnmadeCalls {
  readonly #sql: Sql
  /** By their requests, and since when. */
  readonly #since = new Map<string, number>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  add(requests: readonly HoldRequest[]): void {
    const at = performance.now()
    for (const { call } of requests) if (this.#since.size < MAX_CALLS) this.#since.set(call.requestId, at)
  }

  /** Gives back what was held for them until soon after they failed; the holds of calls that are made stay. */
  async release(made: () => readonly number[]): Promise<void> {
    const at = performance.now()
    const due = [...this.#since].map(([id, since]) => ({ id, age: at - since })).filter(({ age }) => age >= MIN_AGE_MS)
    if (due.length === 0) return
    const ages = Object.fromEntries(due.map(({ id, age }) => [id, age - BEGUN_LATE_MS]))
    await this.#sql(releaseUnmade, [JSON.stringify(ages), made()])
    for (const { id, age } of due) if (age >= MAX_AGE_MS) this.#since.delete(id)
  }
}
