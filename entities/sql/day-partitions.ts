import { statement } from './statement.ts'

/** A table whose rows lie in partitions by day, `change_log_20261122`, with `change_log_default` for the rest. */
export interface DailyTable {
  table: string
  /** The column with the time. */
  column: string
  /** How many days its rows are kept. */
  keptDays: number
}

const DAY_MS = 24 * 60 * 60_000

export const daysFrom = (day: Date, days: number) => new Date(day.getTime() + days * DAY_MS)

/** `2026-11-22`, in UTC. */
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

/** Values: the time before which rows go, and how many at most. */
export const deleteFromDefault = ({ table, column }: DailyTable) =>
  `delete from ${table}_default
    where ctid in (select ctid from ${table}_default where ${column} < $1 limit $2)`
