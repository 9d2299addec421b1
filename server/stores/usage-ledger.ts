import { removeOldCounters } from '../../entities/ai/usage-counter.sql.ts'
import { extendHold } from '../../entities/ai/usage-hold.sql.ts'
import type { ReachedLimit } from '../../entities/ai/usage-notice.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { HeldAmounts, HoldRequest, UsageLedger } from '../../routers/ports/ai/usage-ledger.ts'
import type { Log } from '../../routers/ports/log.ts'
import { HoldQueue } from './usage/hold-queue.ts'
import { LEASE_MS, LeaseKeeper } from './usage/lease-keeper.ts'
import { LimitWatch } from './usage/limit-watch.ts'
import { UnmadeCalls } from './usage/unmade-calls.ts'
import { Settlements } from './usage-settlements.ts'

/** How often the database is told of calls that took more: as much of a call is lost where its process is killed. */
const TELL_MS = 1000
/** How often the calls of processes that are gone are looked for, in milliseconds. */
const UPKEEP_MS = 10_000

export interface OpenUsageLedger extends UsageLedger {
  /** Ends the renewing of leases, after all is settled. */
  close(): Promise<void>
}

interface UsageLedgerOptions {
  sql: Sql
  log: Log
  /** Called once for each limit and period of which so much is used. */
  onReached(limit: ReachedLimit): void
}

export function createUsageLedger({ sql, log, onReached }: UsageLedgerOptions): OpenUsageLedger {
  const leases = new LeaseKeeper(sql)
  const watch = new LimitWatch({ sql, log, onReached })
  const settlements = new Settlements({ sql, log, onGrown: (counters) => watch.add(counters) })
  const unmade = new UnmadeCalls(sql)
  const queue = new HoldQueue({
    ...{ sql, leaseMs: LEASE_MS },
    settleEnded: () => settlements.flush(),
    onUnmade: (requests) => unmade.add(requests),
  })
  const own = () => [...leases.ids, ...settlements.unwritten]
  const tell = () => Promise.all([leases.tell(), unmade.release(own)])
  const upkeep = async () => {
    // Before they are taken for calls of a process that is gone.
    await unmade.release(own)
    await Promise.all([settlements.settleExpired(own), settlements.closeOverdrawn(), sql(removeOldCounters)])
  }
  const timers = [repeat(TELL_MS, tell, log), repeat(UPKEEP_MS, upkeep, log)]

  const hold = async (request: HoldRequest) => {
    const held = await queue.hold(request)
    if (!('id' in held)) return held
    if (request.instead) leases.remove(request.instead)
    leases.add(held)
    return held
  }

  return {
    hold: (request) => (request.instead ? leases.whileUntold(request.instead, () => hold(request)) : hold(request)),
    extend: (held, amounts) =>
      leases.whileUntold(held, async () => {
        await settlements.flush()
        const [extended] = await sql(extendHold, [held.id, amounts.tokens, amounts.costMicros])
        if (!extended?.isHeld) return { limits: extended?.limits ?? [] }
        held.held = greater(held.held, amounts)
        return undefined
      }),
    settle(held, settlement) {
      leases.remove(held)
      const { id, counters } = held
      settlements.add({ ...settlement, id, counters, heldMicros: held.held.costMicros, expiredOnly: false })
    },
    flush: () => settlements.flush(),
    async close() {
      timers.forEach(clearInterval)
      await settlements.flush()
      await watch.look()
    },
  }
}

const repeat = (ms: number, work: () => Promise<unknown>, log: Log) =>
  setInterval(
    () => void work().catch((error) => log.warn({ error }, 'the accounts of calls could not be kept')),
    ms,
  ).unref()

const greater = (held: HeldAmounts, { tokens, costMicros }: HeldAmounts): HeldAmounts => ({
  tokens: held.tokens === null ? null : Math.max(held.tokens, tokens ?? 0),
  costMicros: held.costMicros === null ? null : Math.max(held.costMicros, costMicros ?? 0),
})
