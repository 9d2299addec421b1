import DataLoader from 'dataloader'
import type { Sql, Statement } from '../../entities/sql/statement.ts'

interface Call {
  statement: Statement<unknown>
  values: readonly unknown[]
  cacheKey: string
}

/**
 * Runs a coalesced statement once for all who call it with equal values in one turn of the event loop. The rows are as fresh
 * as if each had called alone: the run begins after the last of them called.
 */
export function coalesce(run: Sql): Sql {
  const loader = new DataLoader<Call, Promise<unknown[]>>(
    async (calls) => {
      const results = new Map<string, Promise<unknown[]>>()
      for (const [cacheKey, same] of Map.groupBy(calls, (call) => call.cacheKey))
        results.set(cacheKey, runTogether(run, same))
      // Returns promises, so that a slow or failing statement does not affect the callers of others.
      return calls.map(({ cacheKey }) => results.get(cacheKey) as Promise<unknown[]>)
    },
    { cache: false, batchScheduleFn: setImmediate },
  )
  return async <Row>(statement: Statement<Row>, values: readonly unknown[] = []) =>
    (await loader.load({ statement, values, cacheKey: cacheKeyOf(statement, values) })) as Row[]
}

/** Runs one statement for calls whose values differ only in the ids. */
function runTogether(run: Sql, [first, ...others]: readonly Call[]): Promise<unknown[]> {
  const { statement, values } = first as Call
  const { idsAt } = statement
  if (idsAt === undefined || others.length === 0) return run(statement, values)
  const ids = new Set([values, ...others.map((call) => call.values)].flatMap((given) => given[idsAt] as number[]))
  return run(statement, values.with(idsAt, [...ids]))
}

function cacheKeyOf({ name, text, idsAt }: Statement<unknown>, values: readonly unknown[]): string {
  const shared = idsAt === undefined ? values : values.with(idsAt, null)
  return `${name || text} ${JSON.stringify(shared)}`
}
