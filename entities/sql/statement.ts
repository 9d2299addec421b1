/** A statement with a name of its own, which PostgreSQL plans once per connection. `Row` is what it selects. */
export interface Statement<Row> {
  readonly name: string
  readonly text: string
  /** Asked for by many at once with the same values: whoever asks in one turn of the event loop gets the same rows. */
  readonly shared?: boolean
  /** Only carries the type. */
  readonly row?: Row
}

/** Runs a statement; values go beside it, never into its text. */
export type Sql = <Row>(statement: Statement<Row>, values?: readonly unknown[]) => Promise<Row[]>

export const statement = <Row>(name: string, text: string): Statement<Row> => ({ name, text })

export const sharedStatement = <Row>(name: string, text: string): Statement<Row> => ({ name, text, shared: true })

/** Selects a point in time as RFC 3339 text in UTC with milliseconds. */
export const isoTime = (column: string) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
