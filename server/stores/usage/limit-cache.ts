import { LRUCache } from 'lru-cache'
import { findCounters, openCounters } from '../../../entities/ai/usage-counter.sql.ts'
import { type ActiveLimit, listActiveLimits } from '../../../entities/ai/usage-limit.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import { type Claim, countsTools, LimitIndex, type SubjectLimit } from '../../../routers/ai/limits/limit-index.ts'
import { maxEntries } from '../../../routers/core/load/cache-size.ts'
import type { ToolCallClaim } from '../../../routers/ports/ai/tool-limits.ts'
import type { ReserveRequest } from '../../../routers/ports/ai/usage-ledger.ts'

interface Counted {
  counter: number
}

export type CounterClaim = Claim<ActiveLimit> & Counted

const MAX_COUNTERS = 20_000

/**
 * Caches limits and their counters, so that the reserving statement need not look them up. That statement checks the version
 * of the limits and reserves nothing if the cache is outdated.
 */
export class LimitCache {
  readonly #sql: Sql
  readonly #counters = new LRUCache<string, number>(maxEntries(MAX_COUNTERS))
  #limits = new LimitIndex<ActiveLimit>([])
  #toolLimits = new LimitIndex<ActiveLimit>([])
  /** Those in money, which count what tools cost, too. */
  #costLimits = new LimitIndex<ActiveLimit>([])
  #version: number | undefined
  /** The newest version that a statement has read. */
  #newest = 0
  #loading: Promise<void> | undefined

  constructor(sql: Sql) {
    this.#sql = sql
  }

  get version(): number | undefined {
    return this.#version
  }

  /** Reads the limits anew, once for all who want them meanwhile. */
  load(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }

  async #read(): Promise<void> {
    const before = this.#newest
    const [found] = await this.#sql(listActiveLimits)
    this.#counters.clear()
    const { tools = [], models = [] } = Object.groupBy(found?.limits ?? [], (limit) =>
      countsTools(limit) ? 'tools' : 'models',
    )
    this.#limits = new LimitIndex(models)
    this.#toolLimits = new LimitIndex(tools)
    this.#costLimits = new LimitIndex(models.filter(({ unit }) => unit === 'money'))
    this.#version = found?.version
    // This read may have missed a version that was noted meanwhile.
    if (this.#newest === before) this.#newest = found?.version ?? 0
  }

  /** Notes a version that a statement has read, so that older limits are read again before the next call of a tool. */
  noteVersion(version: number): void {
    this.#newest = Math.max(this.#newest, version)
  }

  /** Returns the claims of each call on every limit that applies to it; undefined if a limit no longer exists. */
  claim(requests: readonly ReserveRequest[]): Promise<CounterClaim[][] | undefined> {
    return this.#addCounters(requests.map((request) => this.#limits.listClaims(request)))
  }

  /** True if some limit counts the call of a tool. Reads limits only if newer ones are known. */
  async isToolLimited(call: ToolCallClaim): Promise<boolean> {
    // A read that others have begun may end with older limits; the next one begins after this call.
    for (let reads = 0; reads < 2 && this.#isOutdated(); reads++) await this.load()
    return this.#listToolClaims(call).length > 0
  }

  #isOutdated(): boolean {
    return this.#version === undefined || this.#version < this.#newest
  }

  /** Returns the claims of each call of a tool on every limit that counts it; undefined if a limit no longer exists. */
  claimForTools(calls: readonly ToolCallClaim[]): Promise<CounterClaim[][] | undefined> {
    return this.#addCounters(calls.map((call) => this.#listToolClaims(call)))
  }

  #listToolClaims({ subjects, cost }: ToolCallClaim): Claim<ActiveLimit>[] {
    const { costMicros, currency } = cost ?? { costMicros: null, currency: null }
    const request = { subjects, tokens: null, costMicros, currency }
    return [...this.#toolLimits.listClaims(request), ...(cost ? this.#costLimits.listClaims(request) : [])]
  }

  async #addCounters<Subject extends SubjectLimit<ActiveLimit>>(
    claims: readonly Subject[][],
  ): Promise<(Subject & Counted)[][] | undefined> {
    const missing = new Map<string, Subject>()
    for (const claim of claims.flat()) {
      const key = buildKey(claim.limit.id, claim.subjectId)
      if (!this.#counters.has(key)) missing.set(key, claim)
    }
    const opened = await this.#open(missing)
    const result: (Subject & Counted)[][] = []
    for (const callClaims of claims) {
      const counterClaims: (Subject & Counted)[] = []
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
  async #open(missing: Map<string, SubjectLimit<ActiveLimit>>): Promise<Map<string, number>> {
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

function toColumns(claims: Iterable<SubjectLimit<ActiveLimit>>): [limits: number[], subjects: string[]] {
  const all = [...claims]
  return [all.map(({ limit }) => limit.id), all.map(({ subjectId }) => subjectId)]
}

const buildKey = (limitId: number, subjectId: string) => `${limitId} ${subjectId}`
