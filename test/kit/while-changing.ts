import { expect } from 'vitest'
import type { TestApp } from './app.ts'
import { openClient } from './postgres-client.ts'

/** Ends every session in a transaction that is only committed once the request, which still finds its own, waits for it. */
export const whileEnding = <Answer>(svc: TestApp, send: () => Promise<Answer>) =>
  whileChanging(svc, 'delete from sessions', send)

/** Carries out a change in a transaction that is only committed once the request, which does not see it, waits for it. */
export async function whileChanging<Answer>(
  svc: TestApp,
  change: string,
  send: () => Promise<Answer>,
): Promise<Answer> {
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query(change)
  const answer = send()
  await untilWaiting(svc.env.DATABASE_URL)
  await client.query('commit')
  return await answer
}

/** Lets a change happen whenever a local password was compared, before the session begins. */
export function afterComparing({ services: { localAccounts } }: TestApp, change: () => Promise<unknown>): void {
  const compare = localAccounts.verify
  localAccounts.verify = async (...typed) => {
    const identity = await compare(...typed)
    await change()
    return identity
  }
}

/** Resolves once so many connections to a database wait for a lock. It asks by a connection of its own, as a pool may be exhausted. */
export async function untilWaiting(url: string | undefined, count = 1): Promise<void> {
  await using client = await openClient(url)
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  const seen = async () => (await client.query(waiting)).rowCount
  await expect.poll(seen, { timeout: 30_000 }).toBeGreaterThanOrEqual(count)
}
