import { removeOldCounters } from '../../entities/ai/usage-counter.sql.ts'
import type { ReachedLimit } from '../../entities/ai/usage-notice.sql.ts'
import { listExpiredHolds, renewLeases, type Settlement, settle } from '../../entities/ai/usage-settlement.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import { costOf } from '../../routers/catalogue/pricing.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Hold, UsageLedger } from '../../routers/ports/usage-ledger.ts'
import { HoldQueue } from './hold-queue.ts'
import { LimitWatch } from './limit-watch.ts'
import { type Batch, createBatch } from './write-behind.ts'

/** How long a hold stands for which its process says nothing, in milliseconds. */
const LEASE_MS = 30_000
const RENEWAL_MS = 10_000

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

type Ended = Settlement & { counters: readonly number[] }

export function createUsageLedger({ sql, log, onReached }: UsageLedgerOptions): OpenUsageLedger {
  const live = new Set<Hold>()
  const watch = new LimitWatch({ sql, log, onReached })
  const write = async (items: readonly Ended[]) => {
    await sql(settle, settleValues(items))
    watch.add(items.flatMap(({ counters }) => counters))
  }
  const batch = createBatch<Ended>({ name: 'usage', write, log, gather: 5 })
  const queue = new HoldQueue({ sql, leaseMs: LEASE_MS, settleEnded: batch.flush })
  const upkeep = setInterval(() => {
    const warn = (error: unknown) => log.warn({ error }, 'the accounts of calls could not be kept')
    void Promise.all([renew(sql, [...live]), settleExpired(sql, batch), sql(removeOldCounters)]).catch(warn)
  }, RENEWAL_MS).unref()

  return {
    async hold(request) {
      const held = await queue.hold(request)
      if ('id' in held) live.add(held)
      return held
    },
    settle(held, settlement) {
      live.delete(held)
      batch.add({ ...settlement, id: held.id, counters: held.counters, expiredOnly: false })
    },
    flush: batch.flush,
    async close() {
      clearInterval(upkeep)
      await batch.flush()
      await watch.look()
    },
  }
}

async function renew(sql: Sql, holds: readonly Hold[]): Promise<void> {
  if (holds.length === 0) return
  const taken = holds.map((held) => held.taken())
  const tokens = [taken.map(({ input }) => input), taken.map(({ output }) => output)]
  await sql(renewLeases, [holds.map(({ id }) => id), ...tokens, LEASE_MS, holds.length])
}

/** Settles the calls of processes that are gone, at what they had delivered when they last said so. */
async function settleExpired(sql: Sql, batch: Batch<Ended>): Promise<void> {
  for (const { id, inputTokens, outputTokens, pricing, counters, durationMs } of await sql(listExpiredHolds)) {
    const tokens = { input: inputTokens, output: outputTokens, cached: 0, reasoning: 0 }
    const counts = {
      inputTokens,
      outputTokens,
      cachedTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      estimated: true,
    }
    batch.add({ id, counters, outcome: 'lost', ...counts, ...costOf(pricing, tokens), durationMs, expiredOnly: true })
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
  'estimated',
  'costMicros',
  'currency',
  'durationMs',
  'expiredOnly',
] as const satisfies (keyof Settlement)[]

const settleValues = (items: readonly Settlement[]) => [
  ...columns.map((column) => items.map((item) => item[column])),
  items.length,
]
