import type { DeepReadonly } from './read-only.ts'

/** A named statement, which PostgreSQL parses once per connection. `Row` is the type of the selected rows. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** True if concurrent calls with equal values in one turn of the event loop share one run and its rows. */
  readonly coalesced?: true
  /**
   * Position of a list of ids among the values of a coalesced statement. Calls that differ only in it share one run for all
   * ids, and each gets the rows of its own ids, in their order.
   */
  readonly idsAt?: number
  /** Column with the id, among those of the list, to which a row belongs. */
  readonly idColumn?: string
  /** Converts a received row once for all callers that share it. */
  read?(sent: object): Row
  /** Exists only for type inference. */
  readonly row?: Row
}

/** Runs a statement with its values as parameters. */
export type Sql = <Row>(statement: Statement<Row>, values?: readonly unknown[]) => Promise<Row[]>

/** Runs a statement whose rows do not fit into memory, in batches of a thousand or the given size. */
export type ReadInBatches = <Row>(
  statement: Statement<Row>,
  values: readonly unknown[],
  size?: number,
) => AsyncGenerator<Row[], void>

export const statement = <Row>(name: string, text: string): Statement<Row> => ({ name, text })

/**
 * Creates a statement over a table that grows without bound. It has no name, so PostgreSQL plans each call with its
 * values.
 */
export const unboundedStatement = <Row>(text: string): Statement<Row> => ({ name: '', text })

/** Creates a coalesced statement. With ids it says where they stand among the values, and which of them a row belongs to. */
export const coalescedStatement = <Row>(
  name: string,
  text: string,
  options?: { idsAt: number; idColumn: keyof Row & string },
): Statement<DeepReadonly<Row>> => ({ name, text, coalesced: true, ...options })

/** Selects a point in time as RFC 3339 text in UTC with milliseconds. */
export const isoTime = (column: string) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

/** Selects a point in time as milliseconds since 1970. */
export const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

/**
 * Limits a list of values to its own length, so that PostgreSQL expects few rows and uses an index. A plan made for a
 * small table would scan it forever.
 */
export const expectFew = (count: string) => `limit ${count}::int`

/**
 * Compares columns so that PostgreSQL uses the index of `column` for each value. For a plain equation it may scan the
 * whole index if it expects one row.
 */
export const lookUp = (column: string, value: string) => `${column} = any(array[${value}])`
