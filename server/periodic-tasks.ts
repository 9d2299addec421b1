import { setTimeout as pause } from 'node:timers/promises'
import { deleteExpiredConnectRequests } from '../entities/apps/ext-app-connect-request.ts'
import { deleteExpiredSessions } from '../entities/identity/session.sql.ts'
import type { Sql } from '../entities/sql/statement.ts'
import { deleteEndedStreams } from '../entities/views/change-log.sql.ts'
import type { Api } from '../routers/index.ts'
import type { Log } from '../routers/ports/log.ts'
import { recordWork, type Traces } from '../routers/ports/traces.ts'
import type { Env } from './config/settings.ts'
import type { Database } from './database/database.ts'
import { runInScope } from './net/fault-scope.ts'
import { maintainDayPartitions } from './ops/day-partitions.ts'
import { type SampleOptions, sampleMetrics } from './ops/metrics.ts'

/** Work that the service repeats beside its requests. All replicas run it, so a task must tolerate concurrent runs. */
export interface PeriodicTask {
  name: string
  /** Milliseconds between the end of one run and the start of the next. */
  period: number
  /** Runs the task. The signal aborts when the service stops, which waits 10 seconds for the task at most. */
  run(signal: AbortSignal): Promise<unknown>
}

const FIRST_RUN_MS = 60_000

interface PeriodicTaskOptions {
  log: Log
  traces?: Traces | undefined
  /** Milliseconds after the start until each task runs for the first time; its period by default, at most a minute. */
  firstRunMs?: number | undefined
}

/**
 * Runs each task soon after the start and then once a period. A failure is logged, and the task is retried a period later.
 * Returns a function that stops the tasks and waits for the running ones.
 */
export function startPeriodicTasks(tasks: readonly PeriodicTask[], options: PeriodicTaskOptions): () => Promise<void> {
  const stopping = new AbortController()
  const running = tasks.map((task) => runRepeatedly(task, stopping.signal, options))
  return async () => {
    stopping.abort()
    await Promise.all(running)
  }
}

async function runRepeatedly(
  { name, period, run }: PeriodicTask,
  signal: AbortSignal,
  { log, traces, firstRunMs }: PeriodicTaskOptions,
): Promise<void> {
  const wait = (ms: number) => pause(ms, undefined, { signal, ref: false }).catch(() => {})
  await wait(firstRunMs ?? Math.min(period, FIRST_RUN_MS))
  while (!signal.aborted) {
    const record = () => recordWork(traces?.begin(name), () => run(signal))
    await runInScope({ kind: 'periodic task', names: { task: name } }, record).catch((error: unknown) =>
      log.error({ task: name, error }, 'a periodic task failed'),
    )
    await wait(period)
  }
}

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

interface TaskDependencies extends Pick<SampleOptions, 'metrics' | 'jobQueue'> {
  env: Env
  database: Database
  host: Api
}

/** Lists the periodic tasks of a running service. */
export function createPeriodicTasks({ env, database, host, metrics, jobQueue }: TaskDependencies): PeriodicTask[] {
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
      run: () => maintainDayPartitions(longPool, { table: 'change_log', column: 'at', keptDays }, new Date()),
    },
    { name: 'lost answers', period: 10_000, run: () => host.rooms.endLostAnswers() },
    { name: 'discarded conversations', period: MINUTE_MS, run: () => host.conversations.deleteDiscarded() },
    { name: 'ended links', period: 10 * MINUTE_MS, run: () => host.sharedLinks.deleteEnded() },
    { name: 'ended streams', period: HOUR_MS, run: () => longSql(deleteEndedStreams) },
    { name: 'connect requests', period: HOUR_MS, run: () => longSql(deleteExpiredConnectRequests) },
    { name: 'expired tokens', period: HOUR_MS, run: () => host.tokens.deleteExpired() },
    { name: 'ended programs', period: HOUR_MS, run: () => host.oauth.deleteExpired() },
    { name: 'expired invitations', period: HOUR_MS, run: () => host.roomMembers.deleteExpiredInvitations() },
    { name: 'unused files', period: HOUR_MS, run: () => host.files.sweep() },
    { name: 'availability', period: env.AI_STATUS_CHECK_EVERY, run: () => host.models.watch() },
    { name: 'provider outages', period: 10_000, run: () => host.models.checkOutages() },
    { name: 'expired files', period: HOUR_MS, run: () => host.files.deleteExpired() },
    { name: 'expired exports', period: HOUR_MS, run: () => host.personExports.deleteExpired() },
    { name: 'lost texts', period: HOUR_MS, run: () => host.files.planLostTexts() },
    { name: 'lost knowledge files', period: HOUR_MS, run: () => host.knowledge.planLost() },
    { name: 'replaced vectors', period: HOUR_MS, run: () => host.knowledge.deleteRetired() },
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

/** Largest number of sessions that one statement deletes, so that it does not hold its locks for long. */
const MAX_ROWS = 1000

/** Deletes expired sessions, which nothing else removes from the table. */
async function deleteExpired(sql: Sql, lifetime: number, signal: AbortSignal): Promise<void> {
  const expiredAt = new Date(Date.now() - lifetime)
  let deleted: { hash: string }[]
  do {
    deleted = await sql(deleteExpiredSessions, [expiredAt, MAX_ROWS])
  } while (deleted.length === MAX_ROWS && !signal.aborted)
}
