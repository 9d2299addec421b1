import { insertUsage } from '../../entities/ai/usage-record.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { UsageEntry, UsageLog } from '../../routers/ports/usage-log.ts'
import { createBatch } from './write-behind.ts'

type Row = UsageEntry & { at: Date }

/** In the order of the statement's values. */
const columns = [
  'userId',
  'tokenId',
  'context',
  'provider',
  'model',
  'inputTokens',
  'outputTokens',
  'cachedTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'estimated',
  'outcome',
  'durationMs',
  'costMicros',
  'currency',
  'priceId',
  'requestId',
  'at',
] as const satisfies (keyof Row)[]

export function createUsageLog(sql: Sql, log: Log): UsageLog {
  const write = (rows: Row[]) =>
    sql(
      insertUsage,
      columns.map((column) => rows.map((row) => row[column])),
    )
  const batch = createBatch<Row>({ name: 'usage', write, log, gather: 5 })
  return { add: (entry) => batch.add({ ...entry, at: new Date() }), flush: batch.flush }
}
