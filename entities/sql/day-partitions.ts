import { statement } from './statement.ts'

/** A table partitioned by day, as `change_log_20261122`, with `change_log_default` for all other rows. */
export interface DailyTable {
  table: string
  /** The column that contains the time. */
  column: string
  /** Days for which rows are kept. */
  keptDays: number
}

const DAY_MS = 24 * 60 * 60_000

export const daysFrom = (day: Date, days: number) => new Date(day.getTime() + days * DAY_MS)

/** Formats a day in UTC, as `2026-11-22`. */
const toDate = (day: Date) => day.toISOString().slice(0, 10)

export const namePartition = ({ table }: DailyTable, day: Date) => `${table}_${toDate(day).replaceAll('-', '')}`

/** Values: the table. */
export const listPartitions = statement<{ name: string }>(
  'list-partitions',
  'select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = $1::regclass',
)

export const createPartition = (daily: DailyTable, day: Date) =>
  `create table ${namePartition(daily, day)} partition of ${daily.table}
     for values from ('${toDate(day)} 00:00Z') to ('${toDate(daysFrom(day, 1))} 00:00Z')`

export const dropPartition = (name: string) => `drop table ${name}`

/** Values: the time before which rows are deleted, and the batch size. */
export const deleteFromDefault = ({ table, column }: DailyTable) =>
  `delete from ${table}_default
    where ctid in (select ctid from ${table}_default where ${column} < $1 limit $2)`
