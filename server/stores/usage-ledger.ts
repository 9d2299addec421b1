import type { ReachedLimit } from '../../entities/ai/usage-commit.sql.ts'
import { removeOldCounters } from '../../entities/ai/usage-counter.sql.ts'
import { extendReservation } from '../../entities/ai/usage-reservation.sql.ts'
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
import { OrphanedReservations } from './usage/orphaned-reservations.ts'
import { ReservationBatcher } from './usage/reservation-batcher.ts'
import { UsageWriter } from './usage-writer.ts'

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
