import { commitLost, commitUsage, type ReachedLimit, type UsageCommit } from '../../../entities/ai/usage-commit.sql.ts'
import { removeOldCounters } from '../../../entities/ai/usage-counter.sql.ts'
import { EXPIRED_PAGE, listExpiredReservations } from '../../../entities/ai/usage-lease.sql.ts'
import { usageCounts } from '../../../entities/ai/usage-record.ts'
import { extendReservation, releaseReservations } from '../../../entities/ai/usage-reservation.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import {
  QuotaExceeded,
  type ReservedAmounts,
  type ReserveRequest,
  type UsageLedger,
} from '../../../routers/ports/ai/usage-ledger.ts'
import type { Log } from '../../../routers/ports/log.ts'
import { BatchWriter } from '../batch-writer.ts'
import { LEASE_MS, LeaseRenewer } from './lease-renewer.ts'
import type { LimitCache } from './limit-cache.ts'
import { ReservationBatcher, releaseUnclaimed } from './reservation-batcher.ts'

/** Milliseconds between renewals of leases. If a process is killed, the usage of its calls since the last renewal is lost. */
const RENEW_MS = 1000
/** Milliseconds between searches for expired reservations of other processes. */
const UPKEEP_MS = 10_000

export interface ClosableUsageLedger extends UsageLedger {
  /** Stops the renewal of leases and commits all ended calls. */
  close(): Promise<void>
}

interface UsageLedgerOptions {
  sql: Sql
  limits: LimitCache
  log: Log
  /** Is called once for each limit and period when its usage reaches an alert percentage. */
  onReached(limit: ReachedLimit): void
}

export function createUsageLedger({ sql, limits, log, onReached }: UsageLedgerOptions): ClosableUsageLedger {
  const leases = new LeaseRenewer(sql)
  const writer = new UsageWriter({ sql, log, onReached })
  const orphaned = new OrphanedReservations(sql)
  const batcher = new ReservationBatcher({
    sql,
    leaseMs: LEASE_MS,
    limits,
    onOrphaned: (ids) => orphaned.add(ids),
    usageWriter: writer,
  })
  const renew = () => Promise.all([leases.renew(), orphaned.release()])
  const upkeep = () => maintain({ sql, leases, writer, orphaned })
  const timers = [startRepeating(RENEW_MS, renew, log), startRepeating(UPKEEP_MS, upkeep, log)]

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
    reserveTogether: (requests) => batcher.reserveTogether(requests),
    extend: (reservation, amounts) =>
      leases.whilePaused(reservation, async () => {
        await writer.flush()
        const [extended] = await sql(extendReservation, [reservation.id, amounts.tokens, amounts.costMicros])
        if (!extended?.isFound) return 'gone'
        if (!extended.isGranted) return new QuotaExceeded(extended.limits)
        reservation.reserved = takeLargerAmounts(reservation.reserved, amounts)
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

/** Ends what other processes have left behind. */
async function maintain({ sql, leases, writer, orphaned }: LedgerParts): Promise<void> {
  // Orphaned reservations are released first, so that they are not committed as lost calls.
  await orphaned.release()
  await releaseUnclaimed(sql)
  await Promise.all([writer.commitExpired(() => [...leases.ids, ...writer.unwritten]), sql(removeOldCounters)])
}

interface LedgerParts {
  sql: Sql
  leases: LeaseRenewer
  writer: UsageWriter
  orphaned: OrphanedReservations
}

const startRepeating = (ms: number, work: () => Promise<unknown>, log: Log) =>
  setInterval(
    () => void work().catch((error) => log.warn({ error }, 'usage leases could not be maintained')),
    ms,
  ).unref()

const takeLargerAmounts = (reserved: ReservedAmounts, { tokens, costMicros }: ReservedAmounts): ReservedAmounts => ({
  tokens: reserved.tokens === null ? null : Math.max(reserved.tokens, tokens ?? 0),
  costMicros: reserved.costMicros === null ? null : Math.max(reserved.costMicros, costMicros ?? 0),
})

/** Largest number of orphaned reservations that are tracked; further ones are committed as lost when their leases end. */
const MAX_RESERVATIONS = 20_000
/** Milliseconds for which a statement may still start after its connection has broken. */
const MAX_AGE_MS = 60_000

/**
 * Reservations that may have been made although their statement failed, because the connection broke. Their calls were not
 * made. Releases them once the database is available again.
 */
class OrphanedReservations {
  readonly #sql: Sql
  /** Time at which each reservation was added. */
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

/** A call that has ended, with the counters from which it reserved. */
type EndedCall = UsageCommit & { counters: readonly number[] }

interface UsageWriterOptions {
  sql: Sql
  log: Log
  /** Is called once for each limit and period when its usage reaches an alert percentage. */
  onReached(limit: ReachedLimit): void
}

/** Commits ended calls in the background, many in one statement. */
class UsageWriter {
  readonly #options: UsageWriterOptions
  readonly #batch: BatchWriter<EndedCall>

  constructor(options: UsageWriterOptions) {
    this.#options = options
    this.#batch = new BatchWriter({ name: 'usage', write: (items) => this.#write(items), log: options.log, delayMs: 5 })
  }

  add(ended: EndedCall): void {
    this.#batch.add(ended)
  }

  /** Waits until all ended calls are in the database. */
  flush(): Promise<void> {
    return this.#batch.flush()
  }

  /** Reservation ids of ended calls that are not in the database yet. */
  get unwritten(): number[] {
    return this.#batch.unwritten.map(({ id }) => id)
  }

  /** Commits calls whose leases have expired with their last reported usage, except calls of this process. */
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

  async #write(items: readonly EndedCall[]): Promise<void> {
    const { sql, onReached } = this.#options
    const [committed] = await sql(commitUsage, toColumns(items))
    for (const limit of committed?.reached ?? []) onReached(limit)
    const missing = new Set(committed?.missing)
    if (missing.size > 0) await this.#commitLost(items.filter(({ id }) => missing.has(id)))
  }

  /** Corrects calls that another process committed as lost while this one did not renew them; idempotent. */
  async #commitLost(items: readonly EndedCall[]): Promise<void> {
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

/** Columns in the order of the statement's values. */
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
