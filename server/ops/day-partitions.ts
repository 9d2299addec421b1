import type { Pool, PoolClient } from 'pg'
import {
  createPartition,
  type DailyTable,
  dayOf,
  daysFrom,
  deleteFromDefault,
  dropPartition,
  listPartitions,
  partitionOf,
  waitBriefly,
} from '../../entities/sql/day-partitions.ts'
import { locks } from '../../entities/sql/locks.ts'

/** Days for which there is a partition before they begin: what is written today never has to move. */
const DAYS_AHEAD = 2
const BATCH = 10_000

/**
 * Makes the partitions of the next days and drops those whose days are over. Where that was not done in time, rows lie in
 * the default partition, from which they are deleted: no write ever waits for a partition.
 */
export async function keepDayPartitions(pool: Pool, daily: DailyTable, today: Date): Promise<void> {
  await deleteOld(pool, daily, today)
  await inTurn(pool, async (client) => {
    const names = await createAhead(client, daily.table, today)
    // The names of days sort as the days do.
    const oldest = partitionOf(daily.table, daysFrom(today, -daily.keptDays))
    for (const name of names) if (dayOf(name) && name < oldest) await client.query(dropPartition(name))
  })
}

/** Makes the partitions of the next days alone, of a table whose days somebody else ends. */
export const makeDayPartitions = (pool: Pool, table: string, today: Date) =>
  inTurn(pool, (client) => createAhead(client, table, today))

/** Replicas take turns, and nobody who writes waits long. */
async function inTurn(pool: Pool, work: (client: PoolClient) => Promise<unknown>): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [locks.keepPartitions])
    await client.query(waitBriefly)
    await work(client)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

/** Returns the names of the partitions that there were. */
async function createAhead(client: PoolClient, table: string, today: Date): Promise<Set<string>> {
  const { rows } = await client.query<{ name: string }>(listPartitions.text, [table])
  const names = new Set(rows.map(({ name }) => name))
  for (let ahead = 1; ahead <= DAYS_AHEAD; ahead++) {
    const day = daysFrom(today, ahead)
    if (!names.has(partitionOf(table, day))) await client.query(createPartition(table, day))
  }
  return names
}

/** In batches, so that none of them locks many rows for long. */
async function deleteOld(pool: Pool, daily: DailyTable, today: Date): Promise<void> {
  const before = daysFrom(today, -daily.keptDays)
  for (;;) {
    const { rowCount } = await pool.query(deleteFromDefault(daily), [before, BATCH])
    if ((rowCount ?? 0) < BATCH) return
  }
}
