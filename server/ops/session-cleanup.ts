import { deleteExpiredSessions } from '../../entities/identity/session.sql.ts'
import type { Services } from '../../routers/core/services.ts'

const MAX_INTERVAL_MS = 10 * 60_000

/** How many sessions one statement deletes, so that none holds its locks for long. */
const MAX_ROWS = 1000

/**
 * Deletes expired sessions at the start and then periodically: nobody can use them, and nothing else would remove them
 * from the table. Returns a function that stops this.
 */
export function startSessionCleanup({
  sql,
  log,
  settings: { sessionLifetime },
}: Pick<Services, 'sql' | 'log' | 'settings'>): () => Promise<void> {
  let isStopped = false
  let running: Promise<void> | undefined

  async function deleteAll(): Promise<void> {
    const expiredAt = new Date(Date.now() - sessionLifetime)
    let deleted: { hash: string }[]
    do {
      deleted = await sql(deleteExpiredSessions, [expiredAt, MAX_ROWS])
    } while (deleted.length === MAX_ROWS && !isStopped)
  }

  function run(): void {
    running ??= deleteAll()
      .catch((error: unknown) => log.warn({ error }, 'expired sessions could not be deleted'))
      .finally(() => {
        running = undefined
      })
  }

  run()
  const timer = setInterval(run, Math.min(MAX_INTERVAL_MS, sessionLifetime)).unref()
  return async () => {
    isStopped = true
    clearInterval(timer)
    await running
  }
}
