// @module-tag debian

import { expect, test } from 'vitest'
import type { DailyTable } from '../../entities/sql/day-partitions.ts'
import { connect } from '../../server/database/database.ts'
import { maintainDayPartitions } from '../../server/ops/day-partitions.ts'
import { cloneDatabase } from '../kit/database.ts'

const log: DailyTable = { table: 'change_log', column: 'at', keptDays: 7 }
const dayOf = (date: string) => new Date(`${date}T12:00:00Z`)

/** A migrated database, with functions that list the partitions of the change log and the partition of each row. */
async function openLog() {
  const stack = new AsyncDisposableStack()
  const { url } = stack.use(await cloneDatabase())
  const { pool, close } = await connect({ url, poolSize: 3 })
  stack.defer(close)
  const query = async <Row>(text: string) => (await pool.query(text)).rows as Row[]
  return {
    pool,
    query,
    upkeep: (date: string) => maintainDayPartitions(pool, log, dayOf(date)),
    write: (date: string, rows = 1) =>
      query(
        `insert into change_log (stream, seq, at, kind, subject)
         select 'room:1', extract(epoch from timestamptz '${date}') + n, '${date}T08:00Z', 'things.updated', '1' from generate_series(1, ${rows}) n`,
      ),
    partitions: async () =>
      (
        await query<{ name: string }>(
          `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
            where i.inhparent = 'change_log'::regclass order by 1`,
        )
      ).map(({ name }) => name.replace('change_log_', '')),
    places: async () =>
      (
        await query<{ place: string }>(`select distinct tableoid::regclass::text as place from change_log order by 1`)
      ).map(({ place }) => place.replace('change_log_', '')),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('the partitions of the next two days are made once by all replicas', async () => {
  await using log = await openLog()

  await Promise.all([log.upkeep('2026-03-01'), log.upkeep('2026-03-01')])
  await log.upkeep('2026-03-01')

  expect(await log.partitions()).toEqual(['20260302', '20260303', 'default'])
})

test('partitions of the change log are dropped with their rows after retention', async () => {
  await using log = await openLog()
  for (const day of ['2026-03-01', '2026-03-02', '2026-03-03']) await log.upkeep(day)
  for (const day of ['2026-03-02', '2026-03-03', '2026-03-04']) await log.write(day)
  expect(await log.places()).toEqual(['20260302', '20260303', '20260304'])

  await log.upkeep('2026-03-10')

  expect(await log.places()).toEqual(['20260303', '20260304'])
  expect(await log.partitions()).toEqual(['20260303', '20260304', '20260305', '20260311', '20260312', 'default'])
})

test('the change log accepts rows of a day without a partition, and expires them', async () => {
  await using log = await openLog()
  await log.write('2026-03-01', 25_000)
  await log.write('2026-03-06')
  expect(await log.places()).toEqual(['default'])

  await log.upkeep('2026-03-10')

  expect(await log.query('select count(*)::int as rows, min(at)::date::text as day from change_log')).toEqual([
    { rows: 1, day: '2026-03-06' },
  ])
})

test('making or dropping partitions never blocks a writer behind a long read', async () => {
  await using log = await openLog()
  for (const day of ['2026-03-01', '2026-03-02']) await log.upkeep(day)
  const reading = await log.pool.connect()
  await reading.query('begin')
  await reading.query('select * from change_log')

  await expect(log.upkeep('2026-03-12')).rejects.toThrow(/lock timeout/)

  await log.write('2026-03-12')
  await reading.query('rollback')
  reading.release()
  await log.upkeep('2026-03-12')
  expect(await log.partitions()).not.toContain('20260302')
})
