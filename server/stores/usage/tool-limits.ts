import { countToolCall } from '../../../entities/ai/tool-limit.sql.ts'
import type { ReachedLimit } from '../../../entities/ai/usage-commit.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { ToolLimits } from '../../../routers/ports/ai/tool-limits.ts'
import { QuotaExceeded, type SubjectId } from '../../../routers/ports/ai/usage-ledger.ts'
import type { LimitCache } from './limit-cache.ts'

/** Largest number of attempts: limits and periods may change during one, but not every time. */
const MAX_TRIES = 10

interface ToolLimitOptions {
  sql: Sql
  limits: LimitCache
  /** Is called once for each limit and period when its usage reaches an alert percentage. */
  onReached(limit: ReachedLimit): void
}

export function createToolLimits(options: ToolLimitOptions): ToolLimits {
  const { limits } = options
  return {
    async count(subjects) {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const counted = await tryCount(options, subjects)
        if (counted) return counted.isGranted ? undefined : new QuotaExceeded(counted.limits)
        await limits.load()
      }
      throw new Error('the limits changed during every attempt to count a call of a tool')
    },
    noteVersion: (version) => limits.noteVersion(version),
  }
}

/** Returns undefined if the limits have changed meanwhile. */
async function tryCount({ sql, limits, onReached }: ToolLimitOptions, subjects: readonly SubjectId[]) {
  const found = await limits.findToolCounters(subjects)
  if (!found) return undefined
  if (found.counters.length === 0) return { isGranted: true, limits: [] }
  const [counted] = await sql(countToolCall, [found.version, found.counters])
  if (!counted || counted.isStale) return undefined
  counted.reached?.forEach(onReached)
  return counted
}
