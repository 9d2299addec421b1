import { commitLost, commitUsage, type ReachedLimit, type UsageCommit } from '../../entities/ai/usage-commit.sql.ts'
import { removeOldCounters } from '../../entities/ai/usage-counter.sql.ts'
import { EXPIRED_PAGE, listExpiredReservations } from '../../entities/ai/usage-lease.sql.ts'
import { usageCounts } from '../../entities/ai/usage-record.ts'
import { extendReservation, releaseReservations } from '../../entities/ai/usage-reservation.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import {
  QuotaExceeded,
  type ReservedAmounts,
  type ReserveRequest,
  type UsageLedger,
} from '../../routers/ports/ai/usage-ledger.ts'
import type { Log } from '../../routers/ports/log.ts'
import { LEASE_MS, LeaseRenewer } from './usage/lease-renewer.ts'
import { LimitCache } from './usage/limit-cache.ts'
import { ReservationBatcher } from './usage/reservation-batcher.ts'
import { Batch } from './write-behind.ts'

/** How often leases are renewed of calls that took more, in milliseconds: as much of a call is lost where its process is killed. */
const RENEW_MS = 1000
/** How often the calls of processes that are gone are looked for, in milliseconds. */
const UPKEEP_MS = 10_000

export interface OpenUsageLedger extends UsageLedger {
  /** Ends the renewing of leases, after all is committed. */
  close(): Promise<void>
}

interface UsageLedgerOptions {
  sql: Sql
  log: Log
  /** Called once for each limit and period of which so much is used. */
  onReached(limit: ReachedLimit): void
}

export function createUsageLedger({ sql, log, onReached }: UsageLedgerOptions): OpenUsageLedger {
  const leases = new LeaseRenewer(sql)
  const writer = new UsageWriter({ sql, log, onReached })
  const orphaned = new OrphanedReservations(sql)
  const batcher = new ReservationBatcher({
    ...{ sql, leaseMs: LEASE_MS, limits: new LimitCache(sql) },
    onOrphaned: (ids) => orphaned.add(ids),
    ended: writer,
  })
  const renew = () => Promise.all([leases.renew(), orphaned.release()])
  const upkeep = async () => {
    // Before they are taken for calls of a process that is gone.
    await orphaned.release()
    await Promise.all([writer.commitExpired(() => [...leases.ids, ...writer.unwritten]), sql(removeOldCounters)])
  }
  const timers = [repeat(RENEW_MS, renew, log), repeat(UPKEEP_MS, upkeep, log)]

  const reserve = async (request: ReserveRequest) => {
    const reserved = await batcher.reserve(request)
    if (reserved instanceof QuotaExceeded) return reserved
    if (request.replaces) leases.remove(request.replaces)
    leases.add(reserved)
    return reserved
  }

  return {
    reserve: (request) =>
      request.replaces ? leases.whilePaused(request.replaces, () => reserve(request)) : reserve(request),
    extend: (reservation, amounts) =>
      leases.whilePaused(reservation, async () => {
        await writer.flush()
        const [extended] = await sql(extendReservation, [reservation.id, amounts.tokens, amounts.costMicros])
        if (!extended?.isFound) return 'gone'
        if (!extended.isGranted) return new QuotaExceeded(extended.limits)
        reservation.reserved = greater(reservation.reserved, amounts)
        return 'extended'
      }),
    commit(reservation, end) {
      leases.remove(reservation)
      const { id, counters } = reservation
      writer.add({ ...end, id, counters, expiredOnly: false })
    },
    flush: () => writer.flush(),
    async close() {
      timers.forEach(clearInterval)
      await writer.flush()
    },
  }
}

const repeat = (ms: number, work: () => Promise<unknown>, log: Log) =>
  setInterval(
    () => void work().catch((error) => log.warn({ error }, 'the accounts of calls could not be kept')),
    ms,
  ).unref()

const greater = (reserved: ReservedAmounts, { tokens, costMicros }: ReservedAmounts): ReservedAmounts => ({
  tokens: reserved.tokens === null ? null : Math.max(reserved.tokens, tokens ?? 0),
  costMicros: reserved.costMicros === null ? null : Math.max(reserved.costMicros, costMicros ?? 0),
})

/** What is more than this is committed as lost when its lease ends. */
const MAX_RESERVATIONS = 20_000
/** How long a statement whose connection broke may still begin, in milliseconds. */
const MAX_AGE_MS = 60_000

/**
 * Reservations of which nobody knows whether they were made, because the connection broke, and whose calls were not. Releases
 * them once the database answers.
 */
class OrphanedReservations {
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

/** A call that has ended, with the counters of which it reserved a part. */
type Ended = UsageCommit & { counters: readonly number[] }

interface UsageWriterOptions {
  sql: Sql
  log: Log
  /** Called once for each limit and period of which so much is used. */
  onReached(limit: ReachedLimit): void
}

/** Commits calls behind their answers, many in one statement. */
class UsageWriter {
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
        if (!own.has(call.id))
          this.add({ ...call, firstPieceMs: null, outcome: 'lost', estimated: true, expiredOnly: true })
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
  ...usageCounts,
  'estimated',
  'costMicros',
  'currency',
  'durationMs',
  'firstPieceMs',
  'expiredOnly',
] as const satisfies (keyof UsageCommit)[]

const toColumns = (items: readonly UsageCommit[]) => [
  ...columns.map((column) => items.map((item) => item[column])),
  items.length,
]
