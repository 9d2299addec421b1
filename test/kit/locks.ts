import { expect } from 'vitest'
import type { TestApp } from './app.ts'
import { openClient } from './postgres-client.ts'

/** Holds what a statement locks, until it is released. */
export async function holdLock(svc: TestApp, text: string, values: readonly unknown[] = []) {
  const client = await openClient(svc.env.DATABASE_URL)
  await client.query('begin')
  const { rowCount } = await client.query(text, [...values])
  expect(rowCount).toBe(1)
  const [{ holder } = {}] = (await client.query<{ holder: number }>('select pg_backend_pid() as holder')).rows
  return {
    /** Resolves with the connection that waits for it, once there is one. */
    async awaited(): Promise<number> {
      const text = 'select pid from pg_stat_activity where $1::int = any(pg_blocking_pids(pid))'
      const blocked = async () => (await svc.rows<{ pid: number }>(text, [holder]))[0]?.pid
      await expect.poll(blocked).toBeDefined()
      return Number(await blocked())
    },
    release: () => client.query('rollback'),
    /** Resolves when a connection that waited has it, or has lost it again. */
    async passTo(pid: number): Promise<void> {
      await client.query('rollback')
      const text = 'select state from pg_stat_activity where pid = $1'
      const stateOf = async () => (await svc.rows<{ state: string }>(text, [pid]))[0]?.state ?? 'gone'
      await expect.poll(stateOf).toMatch(/idle in transaction|gone/)
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/** Connections that wait for a lock. */
export async function countWaiting(svc: TestApp): Promise<number> {
  const waits = `datname = current_database() and wait_event_type = 'Lock'`
  const [row] = await svc.rows<{ count: number }>(`select count(*)::int as count from pg_stat_activity where ${waits}`)
  return row?.count ?? 0
}
