import type { Pool, PoolClient } from 'pg'
import {
  createPartition,
  type DailyTable,
  daysFrom,
  deleteFromDefault,
  dropPartition,
  listPartitions,
  namePartition,
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
  const client = await pool.connect()
  try {
    await client.query('begin')
    // Replicas take turns, and nobody who writes waits long.
    await client.query(`set local lock_timeout = '2s'`)
    await client.query('select pg_advisory_xact_lock($1)', [locks.keepPartitions])
    await replacePartitions(client, daily, today)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback').catch(() => {})
    throw error
  } finally {
    client.release()
  }
}

async function replacePartitions(client: PoolClient, daily: DailyTable, today: Date): Promise<void> {
  const { rows } = await client.query<{ name: string }>(listPartitions.text, [daily.table])
  const names = new Set(rows.map(({ name }) => name))
  for (let ahead = 1; ahead <= DAYS_AHEAD; ahead++) {
    const day = daysFrom(today, ahead)
    if (!names.has(namePartition(daily, day))) await client.query(createPartition(daily, day))
  }
  // The names of days sort as the days do.
  const oldest = namePartition(daily, daysFrom(today, -daily.keptDays))
  for (const name of names) if (/_\d{8}$/.test(name) && name < oldest) await client.query(dropPartition(name))
}

/** In batches, so that none of them locks many rows for long. */
async function deleteOld(pool: Pool, daily: DailyTable, today: Date): Promise<void> {
  const before = daysFrom(today, -daily.keptDays)
  for (;;) {
    const { rowCount } = await pool.query(deleteFromDefault(daily), [before, BATCH])
    if ((rowCount ?? 0) < BATCH) return
  }
}
