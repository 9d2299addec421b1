import { type EndedToolUse, recordToolUses } from '../../../entities/ai/tool-use.sql.ts'
import type { Sql } from '../../../entities/sql/statement.ts'
import type { ToolUses } from '../../../routers/ports/ai/tool-uses.ts'
import type { Log } from '../../../routers/ports/log.ts'
import { BatchWriter } from '../batch-writer.ts'

const GATHER_MS = 50

export interface ClosableToolUses extends ToolUses {
  /** Waits until all calls are in the database. */
  flush(): Promise<void>
}

export function createToolUses(sql: Sql, log: Log): ClosableToolUses {
  const batch = new BatchWriter<EndedToolUse>({
    name: 'tool uses',
    write: (uses) => sql(recordToolUses, [JSON.stringify(uses)]),
    log,
    delayMs: GATHER_MS,
  })
  return { record: (use) => batch.add(use), flush: () => batch.flush() }
}
