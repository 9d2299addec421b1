import { releaseReservations } from '../../../entities/ai/usage-reservation.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'

/** What is more than this is committed as lost when its lease ends. */
const MAX_RESERVATIONS = 20_000
/** How long a statement whose connection broke may still begin, in milliseconds. */
const MAX_AGE_MS = 60_000

/**
 * Reservations of which nobody knows whether they were made, because the connection broke, and whose calls were not. Releases
 * them once the database answers.
 */
export class OrphanedReservations {
  readonly #sql: Sql
  /** Since when. */
  readonly #since = new Map<number, number>()

  constructor(sql: Sql) {
    this.#sql = sql
  }

  add(ids: readonly number[]): void {
    const at = performance.now()
    for (const id of ids) if (this.#since.size < MAX_RESERVATIONS) this.#since.set(id, at)
  }

  async release(): Promise<void> {
    if (this.#since.size === 0) return
    const at = performance.now()
    const orphaned = [...this.#since]
    await this.#sql(releaseReservations, [orphaned.map(([id]) => id), orphaned.length])
    for (const [id, since] of orphaned) if (at - since >= MAX_AGE_MS) this.#since.delete(id)
  }
}
