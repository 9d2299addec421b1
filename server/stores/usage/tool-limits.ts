import { countToolCalls, showToolLimits } from '../../../entities/ai/tool-limit.sql.ts'
import type { ReachedLimit } from '../../../entities/ai/usage-commit.sql.ts'
import { countRefusals } from '../../../entities/ai/usage-counter.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { ToolCallClaim, ToolLimits } from '../../../routers/ports/ai/tool-limits.ts'
import { hasRoom, QuotaExceeded } from '../../../routers/ports/ai/usage-ledger.ts'
import { CallBatches } from './call-batches.ts'
import { isFull, judgeOneByOne } from './judge-calls.ts'
import type { CounterClaim, LimitCache } from './limit-cache.ts'

interface ToolLimitOptions {
  sql: Sql
  limits: LimitCache
  /** Is called once for each limit and period when its usage reaches an alert percentage. */
  onReached(limit: ReachedLimit): void
}

interface Candidate {
  call: ToolCallClaim
  claims: CounterClaim[]
}

type Verdict = 'counted' | QuotaExceeded

/**
 * Counts in one statement for all calls that arrived during the last one. If they do not fit together, it judges them one
 * after the other and counts those that fit.
 */
export class ToolCallCounter implements ToolLimits {
  readonly #options: ToolLimitOptions
  readonly #batches = new CallBatches<ToolCallClaim, Verdict>((open, verdicts) => this.#countOpen(open, verdicts))

  constructor(options: ToolLimitOptions) {
    this.#options = options
  }

  noteVersion(version: number): void {
    this.#options.limits.noteVersion(version)
  }

  async count(call: ToolCallClaim): Promise<QuotaExceeded | undefined> {
    if (!(await this.#options.limits.isToolLimited(call))) return undefined
    const verdict = await this.#batches.add(call)
    return verdict === 'counted' ? undefined : verdict
  }

  async check(call: ToolCallClaim): Promise<QuotaExceeded | undefined> {
    const { sql, limits } = this.#options
    if (!(await limits.isToolLimited(call))) return undefined
    const claims = (await limits.claimForTools([call]))?.[0] ?? []
    const [shown] = await sql(showToolLimits, [
      claims.map(({ counter }) => counter),
      claims.map(({ amount }) => amount),
    ])
    const exceeded = new QuotaExceeded(shown?.limits ?? [])
    if (!exceeded.limits.some(isFull)) return undefined
    await this.#countRefusals([exceeded])
    return exceeded
  }

  /** Counts all open calls, or refuses those that do not fit; returns the calls to retry. */
  async #countOpen(
    open: readonly ToolCallClaim[],
    verdicts: Map<ToolCallClaim, Verdict | Error>,
  ): Promise<readonly ToolCallClaim[]> {
    const { limits, onReached } = this.#options
    const { version } = limits
    const claims = await limits.claimForTools(open)
    const candidates = claims && open.map((call, at) => ({ call, claims: claims[at] ?? [] }))
    const result = candidates && (await this.#run(candidates, version))
    if (!result || result.isStale) {
      await limits.load()
      return open
    }
    if (result.isGranted) {
      result.reached?.forEach(onReached)
      for (const call of open) verdicts.set(call, 'counted')
      return []
    }
    const states = new Map(result.limits.map((limit) => [limit.counter, limit]))
    const { fitting, refused } = judgeOneByOne(candidates, states)
    for (const [{ call }, exceeded] of refused) verdicts.set(call, exceeded)
    await this.#countRefusals(refused.values())
    return fitting.map(({ call }) => call)
  }

  async #run(candidates: readonly Candidate[], version: number | undefined) {
    const parts = candidates.flatMap(({ claims }, call) =>
      claims.map(({ counter, amount }) => ({ call, counter, amount })),
    )
    const [result] = await this.#options.sql(countToolCalls, [
      version,
      parts.map(({ call }) => call),
      parts.map(({ counter }) => counter),
      parts.map(({ amount }) => amount),
    ])
    return result
  }

  async #countRefusals(refused: Iterable<QuotaExceeded>): Promise<void> {
    const counters = [...refused].flatMap(({ limits }) =>
      limits.filter((limit) => !hasRoom(limit)).map(({ counter }) => counter),
    )
    if (counters.length > 0) await this.#options.sql(countRefusals, [counters])
  }
}
