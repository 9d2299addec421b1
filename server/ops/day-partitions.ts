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

/** Number of days ahead for which partitions are created, so that no row has to be moved later. */
const DAYS_AHEAD = 2
const BATCH = 10_000

/**
 * Creates the partitions of the next days and drops expired ones. If a partition was not created in time, its rows are in the
 * default partition, from which they are deleted later; so no write ever waits for a partition.
 */
export async function maintainDayPartitions(pool: Pool, daily: DailyTable, today: Date): Promise<void> {
  await deleteOld(pool, daily, today)
  const client = await pool.connect()
  try {
    await client.query('begin')
    // Replicas take turns, and the lock timeout keeps writers from waiting long.
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
  // The names of partitions sort by date.
  const oldest = namePartition(daily, daysFrom(today, -daily.keptDays))
  for (const name of names) if (/_\d{8}$/.test(name) && name < oldest) await client.query(dropPartition(name))
}

/** Deletes expired rows of the default partition in batches, so that no statement locks many rows for long. */
async function deleteOld(pool: Pool, daily: DailyTable, today: Date): Promise<void> {
  const before = daysFrom(today, -daily.keptDays)
  for (;;) {
    const { rowCount } = await pool.query(deleteFromDefault(daily), [before, BATCH])
    if ((rowCount ?? 0) < BATCH) return
  }
}
