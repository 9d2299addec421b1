import type { DeepReadonly } from './read-only.ts'

/** A statement with a name of its own, which PostgreSQL parses once per connection. `Row` is what it selects. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Calls with equal values in one turn of the event loop share one run and its rows. */
  readonly coalesced?: true
  /**
   * The position of a list of ids among the values of a coalesced statement: callers who differ in nothing else share one
   * run for the ids of all, and each gets the rows of all.
   */
  readonly idsAt?: number
  /** Makes a row of what PostgreSQL sent: once, for all who share it. No transaction runs a statement that has one. */
  read?(sent: object): Row
  /** Exists only for the type. */
  readonly row?: Row
}

/** Runs a statement with its values as parameters. */
export type Sql = <Row>(statement: Statement<Row>, values?: readonly unknown[]) => Promise<Row[]>

/** Runs a statement whose rows are too many to hold at once: a thousand at a time, or so many. */
export type ReadInBatches = <Row>(
  statement: Statement<Row>,
  values: readonly unknown[],
  size?: number,
) => AsyncGenerator<Row[], void>

export const statement = <Row>(name: string, text: string): Statement<Row> => ({ name, text })

/** A statement over a table that grows without bound: without a name, so that PostgreSQL plans each call with its values. */
export const unboundedStatement = <Row>(text: string): Statement<Row> => ({ name: '', text })

export const coalescedStatement = <Row>(
  name: string,
  text: string,
  options: Pick<Statement<Row>, 'idsAt'> = {},
): Statement<DeepReadonly<Row>> => ({ name, text, coalesced: true, ...options })

/** Selects a point in time as RFC 3339 text in UTC with milliseconds. */
export const isoTime = (column: string) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Selects a point in time as milliseconds since 1970. */
export const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

/**
 * For a list of values whose length stands beside it: makes PostgreSQL expect so few rows that it looks each one up by an
 * index. A plan made while a table was small would read all of it, and all that was deleted from it, ever after.
 */
export const expectFew = (count: string) => `limit ${count}::int`

/**
 * Compares a column with a value of another table so that PostgreSQL looks each value up by the index of the column. Of an
 * equation it may read the index from end to end instead, and compare all with all, where it believes that there is one row.
 */
export const lookUp = (column: string, value: string) => `${column} = any(array[${value}])`
