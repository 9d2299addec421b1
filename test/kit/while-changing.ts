import pg from 'pg'
import { expect } from 'vitest'
import type { TestApp } from './app.ts'

/** Ends every session in a transaction that is only committed once the request, which still finds its own, waits for it. */
export const whileEnding = <Answer>(svc: TestApp, send: () => Promise<Answer>) =>
  whileChanging(svc, 'delete from sessions', send)

/** Carries out a change in a transaction that is only committed once the request, which does not see it, waits for it. */
export async function whileChanging<Answer>(
  svc: TestApp,
  change: string,
  send: () => Promise<Answer>,
): Promise<Answer> {
  const client = new pg.Client({ connectionString: svc.env.DATABASE_URL })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(change)
    const answer = send()
    const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await expect.poll(() => svc.rows(waiting), { timeout: 10_000 }).toHaveLength(1)
    await client.query('commit')
    return await answer
  } finally {
    await client.end()
  }
}
