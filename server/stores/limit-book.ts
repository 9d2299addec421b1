import { LRUCache } from 'lru-cache'
import { type CounterRow, findCounters, openCounters } from '../../entities/ai/usage-counter.sql.ts'
import type { Measure } from '../../entities/ai/usage-hold.ts'
import { type ActiveLimit, listActiveLimits } from '../../entities/ai/usage-limit.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { HoldRequest } from '../../routers/ports/usage-ledger.ts'

/** A part of a limit that a call asks for; the amount is null where its price is unknown. */
export interface Claim {
  limit: ActiveLimit
  subjectId: string
  amount: number | null
  measure: Measure
}

const MAX_COUNTERS = 20_000

/**
 * The limits and their counters as this process knows them, so that the statements that hold need not look them up. Each of
 * those statements is given the version, and holds nothing where it is an old one.
 */
export class LimitBook {
  readonly #sql: Sql
  readonly #counters = new LRUCache<string, CounterRow>({ max: MAX_COUNTERS })
  #limits = new Map<string, ActiveLimit[]>()
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
    this.#limits = Map.groupBy(found?.limits ?? [], ({ subject, subjectId }) => keyOf(subject, subjectId))
    this.#version = found?.version
  }

  /** What a call asks of every limit that applies to it. */
  claimsOf({ subjects, ...most }: HoldRequest): Claim[] {
    return subjects.flatMap(([subject, subjectId]) =>
      [...(this.#limits.get(keyOf(subject, null)) ?? []), ...(this.#limits.get(keyOf(subject, subjectId)) ?? [])].map(
        (limit) => ({ limit, subjectId, ...partOf(limit, most) }),
      ),
    )
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
      this.#counters.set(counterKeyOf(row.limitId, row.subjectId), row, { ttl: Math.max(1, row.endsAt - Date.now()) })
  }

  /** The counters of a claim, one a stripe; undefined where its limit is gone. */
  countersOf = (claim: Claim): CounterRow | undefined => this.#counters.get(counterKey(claim))
}

function valuesOf(claims: Iterable<Claim>): [limits: number[], subjects: string[]] {
  const all = [...claims]
  return [all.map(({ limit }) => limit.id), all.map(({ subjectId }) => subjectId)]
}

const keyOf = (subject: string, subjectId: string | null) => JSON.stringify([subject, subjectId])
const counterKeyOf = (limitId: number, subjectId: string) => `${limitId} ${subjectId}`
const counterKey = ({ limit, subjectId }: Claim) => counterKeyOf(limit.id, subjectId)

function partOf(
  { unit, currency, unpricedCost }: ActiveLimit,
  most: Pick<HoldRequest, 'tokens' | 'costMicros' | 'currency'>,
): Pick<Claim, 'amount' | 'measure'> {
  if (unit === 'requests') return { amount: 1, measure: 'amount' }
  if (unit === 'tokens') return { amount: most.tokens, measure: 'tokens' }
  if (most.costMicros === 0 || most.currency === currency) return { amount: most.costMicros, measure: 'cost' }
  return { amount: unpricedCost, measure: 'amount' }
}
