import { expect } from 'vitest'
import type { TestApp } from './app.ts'
import { openClient } from './postgres-client.ts'

/** Holds the locks of a statement until they are released. */
export async function holdLock(svc: TestApp, text: string, values: readonly unknown[] = []) {
  const client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  const { rowCount } = await client.query(text, [...values])
  expect(rowCount).toBe(1)
  const [{ holder } = {}] = (await client.query<{ holder: number }>('select pg_backend_pid() as holder')).rows
  return {
    /** Resolves with the process id of a connection that waits for the lock. */
    async waitForWaiter(): Promise<number> {
      const text = 'select pid from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))'
      const blocked = async () => (await svc.rows<{ pid: number }>(text, [holder]))[0]?.pid
      await expect.poll(blocked).toBeDefined()
      return Number(await blocked())
    },
    release: () => client.query('rollback'),
    /** Releases the lock; resolves when the waiting connection has got it or has ended. */
    async passTo(pid: number): Promise<void> {
      await client.query('rollback')
      const text = 'select state from pg_stat_activity where pid = $1'
      const readState = async () => (await svc.rows<{ state: string }>(text, [pid]))[0]?.state ?? 'gone'
      await expect.poll(readState).toMatch(/idle in transaction|gone/)
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** Returns the number of connections that wait for a lock. */
export async function countWaiting(svc: TestApp): Promise<number> {
  const waits = `datname = current_database() and wait_event_type = 'Lock'`
  const [row] = await svc.rows<{ count: number }>(`select count(*)::int as count from pg_stat_activity where ${waits}`)
  return row?.count ?? 0
}

/** Ends every session in a transaction that commits once the request, which still sees its session, waits for it. */
export const whileEndingSessions = <Answer>(svc: TestApp, send: () => Promise<Answer>) =>
  whileChanging(svc, 'delete from sessions', send)

/** Makes a change in a transaction that commits once the request, which does not see it, waits for it. */
export async function whileChanging<Answer>(
  svc: TestApp,
  change: string,
  send: () => Promise<Answer>,
): Promise<Answer> {
  await using client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  await client.query(change)
  const answer = send()
  await waitForLocks(svc.env.DATABASE_URL)
  await client.query('commit')
  return await answer
}

/** Makes a change after each check of a local password, before the session starts. */
export function afterPasswordCheck({ services }: TestApp, change: () => Promise<unknown>): void {
  const compare = services.login.localAccounts.verify
  services.login.localAccounts.verify = async (...typed) => {
    const identity = await compare(...typed)
    await change()
    return identity
  }
}

/** Resolves once so many connections wait for a lock. It uses a connection of its own, as a pool may be exhausted. */
export async function waitForLocks(url: string | undefined, count = 1): Promise<void> {
  await using client = await openClient(url)
  const waiting = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
  const countLocks = async () => (await client.query(waiting)).rowCount
  await expect.poll(countLocks, { timeout: 60_000 }).toBeGreaterThanOrEqual(count)
}
