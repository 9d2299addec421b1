import { renewLeases } from '../../../entities/ai/usage-lease.sql.ts'
import { usageCounts } from '../../../entities/ai/usage-record.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { CallProgress, Reservation, ReservedAmounts } from '../../../routers/ports/ai/usage-ledger.ts'

/** Milliseconds until the lease of a reservation expires unless it is renewed. */
export const LEASE_MS = 30_000
/** Milliseconds after which a lease is renewed even if its call made no progress. */
const RENEWAL_MS = 10_000

interface RenewedProgress {
  at: number
  outputTokens: number
  inputTokens: number
  webSearches: number
  webFetches: number
}

/** Renews the leases of this process's calls and reports their usage: soon for calls that made progress, and occasionally for the others. */
export class LeaseRenewer {
  readonly #sql: Sql
  readonly #reservations = new Set<Reservation>()
  /** Last reported progress; most calls end before their first renewal and never get here. */
  readonly #renewed = new Map<Reservation, RenewedProgress>()
  readonly #paused = new Set<Reservation>()
  #running: Promise<void> | undefined

  constructor(sql: Sql) {
    this.#sql = sql
  }

  add(reservation: Reservation): void {
    this.#reservations.add(reservation)
  }

  remove(reservation: Reservation): void {
    this.#reservations.delete(reservation)
    this.#renewed.delete(reservation)
  }

  /** Ids of this process's reservations whose calls have not ended. */
  get ids(): number[] {
    return Array.from(this.#reservations, ({ id }) => id)
  }

  /** Renews due leases in one statement; concurrent calls share one run. */
  renew(): Promise<void> {
    this.#running ??= this.#renewDue().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Runs an extension of a reservation while the renewal, which can shrink it, is paused for it. */
  async whilePaused<Result>(reservation: Reservation, extend: () => Promise<Result>): Promise<Result> {
    this.#paused.add(reservation)
    try {
      await this.#running?.catch(() => {})
      return await extend()
    } finally {
      this.#paused.delete(reservation)
    }
  }

  async #renewDue(): Promise<void> {
    const at = performance.now()
    const due = [...this.#reservations]
      .filter((reservation) => !this.#paused.has(reservation))
      .map((reservation) => ({ reservation, progress: reservation.progress() }))
      .filter(({ reservation, progress }) => this.#isDue(reservation, progress, at))
    if (due.length === 0) return
    for (const { reservation, progress } of due)
      reservation.reserved = takeSmallerAmounts(reservation.reserved, progress.max)
    await this.#sql(renewLeases, toColumns(due))
    for (const { reservation, progress } of due)
      if (this.#reservations.has(reservation)) this.#renewed.set(reservation, { at, ...progress })
  }

  #isDue(reservation: Reservation, progress: CallProgress, at: number): boolean {
    const last = this.#renewed.get(reservation)
    if (!last) return true
    const hasProgressed =
      last.outputTokens !== progress.outputTokens ||
      last.inputTokens !== progress.inputTokens ||
      last.webSearches !== progress.webSearches ||
      last.webFetches !== progress.webFetches
    return hasProgressed || at - last.at >= RENEWAL_MS
  }
}

const takeSmallerAmounts = (reserved: ReservedAmounts, most: ReservedAmounts): ReservedAmounts => ({
  tokens: reserved.tokens === null ? null : Math.min(reserved.tokens, most.tokens ?? Infinity),
  costMicros: reserved.costMicros === null ? null : Math.min(reserved.costMicros, most.costMicros ?? Infinity),
})

/** Columns in the order of the statement's values. */
const columns = [...usageCounts, 'costMicros', 'currency'] as const satisfies (keyof CallProgress)[]

const toColumns = (due: readonly { reservation: Reservation; progress: CallProgress }[]) => [
  due.map(({ reservation }) => reservation.id),
  ...columns.map((column) => due.map(({ progress }) => progress[column])),
  due.map(({ progress }) => progress.max.tokens),
  due.map(({ progress }) => progress.max.costMicros),
  LEASE_MS,
  due.length,
]
