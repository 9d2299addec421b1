import { LRUCache } from 'lru-cache'
import { type CounterRow, findCounters, openCounters } from '../../../entities/ai/usage-counter.sql.ts'
import { type ActiveLimit, listActiveLimits } from '../../../entities/ai/usage-limit.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { type Claim as LimitClaim, LimitIndex } from '../../../routers/ai/limits/limit-claims.ts'
import { atMost } from '../../../routers/core/load/cache-size.ts'
import type { HoldRequest } from '../../../routers/ports/ai/usage-ledger.ts'

export type Claim = LimitClaim<ActiveLimit>

const MAX_COUNTERS = 20_000

/**
 * The limits and their counters as this process knows them, so that the statements that hold need not look them up. Each of
 * those statements is given the version, and holds nothing where it is an old one.
 */
export class LimitBook {
  readonly #sql: Sql
  readonly #counters = new LRUCache<string, CounterRow>(atMost(MAX_COUNTERS))
  #limits = new LimitIndex<ActiveLimit>([])
  #version: number | undefined

  constructor(sql: Sql) {
    this.#sql = sql
  }

  get version(): number | undefined {
    return this.#version
  }

  async load(): Promise<void> {
    const [found] = await this.#sql(listActiveLimits)
    this.#counters.clear()
    this.#limits = new LimitIndex(found?.limits ?? [])
    this.#version = found?.version
  }

  /** Whether a call asks anything of a limit. */
  appliesTo(request: HoldRequest): boolean {
    return this.#limits.appliesTo(request)
  }

  /** What a call asks of every limit that applies to it. */
  claimsOf(request: HoldRequest): Claim[] {
    return this.#limits.claimsOf(request)
  }

  /** Finds or makes the counters of these claims for the periods that run. */
  async open(claims: readonly Claim[]): Promise<void> {
    const missing = new Map(claims.flatMap((claim) => (this.countersOf(claim) ? [] : [[counterKey(claim), claim]])))
    if (missing.size === 0) return
    const found = await this.#sql(findCounters, valuesOf(missing.values()))
    for (const row of found) missing.delete(counterKeyOf(row.limitId, row.subjectId))
    // Those that are there would be locked, and in another order than calls lock them.
    if (missing.size > 0) {
      await this.#sql(openCounters, valuesOf(missing.values()))
      found.push(...(await this.#sql(findCounters, valuesOf(missing.values()))))
    }
    for (const row of found)
      this.#counters.set(counterKeyOf(row.limitId, row.subjectId), row, { ttl: Math.max(1, row.remainingMs) })
  }

  /** The counters of a claim, one a stripe; undefined where its limit is gone. */
  countersOf = (claim: Claim): CounterRow | undefined => this.#counters.get(counterKey(claim))
}

function valuesOf(claims: Iterable<Claim>): [limits: number[], subjects: string[]] {
  const all = [...claims]
  return [all.map(({ limit }) => limit.id), all.map(({ subjectId }) => subjectId)]
}

const counterKeyOf = (limitId: number, subjectId: string) => `${limitId} ${subjectId}`
const counterKey = ({ limit, subjectId }: Claim) => counterKeyOf(limit.id, subjectId)
