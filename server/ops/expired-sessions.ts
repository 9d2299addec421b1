import { deleteExpiredSessions } from '../../entities/identity/session.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'

/** How many sessions one statement deletes, so that none holds its locks for long. */
const MAX_ROWS = 1000

/** Deletes the sessions that nobody can use any more; nothing else would remove them from the table. */
export async function deleteExpired(sql: Sql, lifetime: number, signal: AbortSignal): Promise<void> {
  const expiredAt = new Date(Date.now() - lifetime)
  let deleted: { hash: string }[]
  do {
    deleted = await sql(deleteExpiredSessions, [expiredAt, MAX_ROWS])
  } while (deleted.length === MAX_ROWS && !signal.aborted)
}
