import { deleteExpiredConnectRequests } from '../entities/apps/ext-app-connect-request.ts'
import { deleteExpiredSessions } from '../entities/identity/session.sql.ts'
import type { Sql } from '../entities/sql/statement.ts'
import { deleteEndedStreams } from '../entities/views/change-log.sql.ts'
import type { Api } from '../routers/index.ts'
import type { Env } from './config/settings.ts'
import type { Database } from './database/database.ts'
import { keepDayPartitions } from './ops/day-partitions.ts'
import { type SampledParts, sampleMetrics } from './ops/metrics-sample.ts'
import type { PeriodicTask } from './ops/periodic-tasks.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

interface TaskParts extends Pick<SampledParts, 'metrics' | 'jobQueue'> {
  env: Env
  database: Database
  host: Api
}

/** What a running service does now and then. */
export function createPeriodicTasks({ env, database, host, metrics, jobQueue }: TaskParts): PeriodicTask[] {
  const { longPool, longSql } = database
  const { SESSION_LIFETIME, CHANGE_LOG_DAYS: keptDays } = env
  return [
    {
      name: 'expired sessions',
      period: Math.min(10 * MINUTE_MS, SESSION_LIFETIME),
      run: (signal) => deleteExpired(longSql, SESSION_LIFETIME, signal),
    },
    {
      name: 'change log',
      period: HOUR_MS,
      run: () => keepDayPartitions(longPool, { table: 'change_log', column: 'at', keptDays }, new Date()),
    },
    { name: 'lost answers', period: 10_000, run: () => host.rooms.endLostAnswers() },
    { name: 'discarded conversations', period: MINUTE_MS, run: () => host.conversations.deleteDiscarded() },
    { name: 'ended streams', period: HOUR_MS, run: () => longSql(deleteEndedStreams) },
    { name: 'connect requests', period: HOUR_MS, run: () => longSql(deleteExpiredConnectRequests) },
    { name: 'expired tokens', period: HOUR_MS, run: () => host.tokens.deleteExpired() },
    { name: 'expired invitations', period: HOUR_MS, run: () => host.roomMembers.deleteExpiredInvitations() },
    { name: 'unused files', period: HOUR_MS, run: () => host.files.sweep() },
    { name: 'availability', period: env.AI_STATUS_CHECK_EVERY, run: () => host.models.watch() },
    { name: 'provider outages', period: 10_000, run: () => host.models.checkOutages() },
    { name: 'expired files', period: HOUR_MS, run: () => host.files.deleteExpired() },
    { name: 'expired exports', period: HOUR_MS, run: () => host.personExports.deleteExpired() },
    { name: 'lost texts', period: HOUR_MS, run: () => host.files.planLostTexts() },
    { name: 'old disclosures', period: HOUR_MS, run: () => host.rooms.deleteOldDisclosures() },
    {
      name: 'sample of metrics',
      period: MINUTE_MS / 2,
      run: () => sampleMetrics({ metrics, jobQueue, sql: longSql, folder: env.DATA_DIR }),
    },
    { name: 'audit log', period: HOUR_MS, run: () => host.audit.upkeep() },
    { name: 'usage records', period: HOUR_MS, run: () => host.usage.rollUp() },
  ]
}

/** How many sessions one statement deletes, so that none holds its locks for long. */
const MAX_ROWS = 1000

/** Deletes the sessions that nobody can use any more; nothing else would remove them from the table. */
async function deleteExpired(sql: Sql, lifetime: number, signal: AbortSignal): Promise<void> {
  const expiredAt = new Date(Date.now() - lifetime)
  let deleted: { hash: string }[]
  do {
    deleted = await sql(deleteExpiredSessions, [expiredAt, MAX_ROWS])
  } while (deleted.length === MAX_ROWS && !signal.aborted)
}
