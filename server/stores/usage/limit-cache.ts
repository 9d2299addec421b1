import { LRUCache } from 'lru-cache'
import { findCounters, openCounters } from '../../../entities/ai/usage-counter.sql.ts'
import { type ActiveLimit, listActiveLimits } from '../../../entities/ai/usage-limit.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { type Claim, LimitIndex } from '../../../routers/ai/limits/limit-index.ts'
import { maxEntries } from '../../../routers/core/load/cache-size.ts'
import type { ReserveRequest } from '../../../routers/ports/ai/usage-ledger.ts'

export type CounterClaim = Claim<ActiveLimit> & { counter: number }

const MAX_COUNTERS = 20_000

/**
 * Caches limits and their counters, so that the reserving statement need not look them up. That statement checks the version
 * of the limits and reserves nothing if the cache is outdated.
 */
export class LimitCache {
  readonly #sql: Sql
  readonly #counters = new LRUCache<string, number>(maxEntries(MAX_COUNTERS))
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

  /** Returns the claims of each call on every limit that applies to it; undefined if a limit no longer exists. */
  async claim(requests: readonly ReserveRequest[]): Promise<CounterClaim[][] | undefined> {
    const claims = requests.map((request) => this.#limits.listClaims(request))
    const missing = new Map<string, Claim<ActiveLimit>>()
    for (const claim of claims.flat()) {
      const key = buildKey(claim.limit.id, claim.subjectId)
      if (!this.#counters.has(key)) missing.set(key, claim)
    }
    const opened = await this.#open(missing)
    const result: CounterClaim[][] = []
    for (const callClaims of claims) {
      const counterClaims: CounterClaim[] = []
      for (const claim of callClaims) {
        const key = buildKey(claim.limit.id, claim.subjectId)
        const counter = opened.get(key) ?? this.#counters.get(key)
        if (counter === undefined) return undefined
        counterClaims.push({ ...claim, counter })
      }
      result.push(counterClaims)
    }
    return result
  }

  /** Finds or creates the counters of these claims for the current periods. */
  async #open(missing: Map<string, Claim<ActiveLimit>>): Promise<Map<string, number>> {
    const opened = new Map<string, number>()
    if (missing.size === 0) return opened
    const found = await this.#sql(findCounters, toColumns(missing.values()))
    for (const row of found) missing.delete(buildKey(row.limitId, row.subjectId))
    // Existing counters are not passed to the insert: it would lock them in another order than calls do.
    if (missing.size > 0) {
      await this.#sql(openCounters, toColumns(missing.values()))
      found.push(...(await this.#sql(findCounters, toColumns(missing.values()))))
    }
    for (const { id, limitId, subjectId, remainingMs } of found) {
      opened.set(buildKey(limitId, subjectId), id)
      this.#counters.set(buildKey(limitId, subjectId), id, { ttl: Math.max(1, remainingMs) })
    }
    return opened
  }
}

function toColumns(claims: Iterable<Claim<ActiveLimit>>): [limits: number[], subjects: string[]] {
  const all = [...claims]
  return [all.map(({ limit }) => limit.id), all.map(({ subjectId }) => subjectId)]
}

const buildKey = (limitId: number, subjectId: string) => `${limitId} ${subjectId}`
