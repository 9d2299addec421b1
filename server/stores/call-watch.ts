import { findForbiddenCalls } from '../../entities/catalogue/ai-tool.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { CallWatch, WatchedCall } from '../../routers/ports/ai/call-watch.ts'
import type { Log } from '../../routers/ports/log.ts'

/** Milliseconds between checks, which run only while there are calls. */
const INTERVAL_MS = 500

/** Creates the watch of this process: one statement for all its calls, so that no change needs to be announced. */
export function createCallWatch(sql: Sql, log: Log): CallWatch {
  const calls = new Map<AbortController, WatchedCall>()
  let timer: NodeJS.Timeout | undefined

  const check = async () => {
    const checked = [...calls]
    const forbidden = await sql(findForbiddenCalls, [
      checked.map(([, { toolId }]) => toolId),
      checked.map(([, { userId }]) => userId),
      checked.map(([, { isByProgram }]) => isByProgram),
      checked.map(([, { approvalVersion }]) => approvalVersion),
    ])
    for (const { position } of forbidden) checked[position - 1]?.[0].abort()
  }

  const schedule = () => {
    timer = setTimeout(async () => {
      await check().catch((error: unknown) => log.warn({ error }, 'the rights to calls of tools could not be checked'))
      timer = undefined
      if (calls.size > 0) schedule()
    }, INTERVAL_MS).unref()
  }

  return {
    watch(call) {
      const ended = new AbortController()
      calls.set(ended, call)
      if (!timer) schedule()
      return { signal: ended.signal, [Symbol.dispose]: () => void calls.delete(ended) }
    },
  }
}
