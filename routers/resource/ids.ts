import { z } from 'zod'

/** Format of a type's ids. */
export interface IdFormat {
  /** Accepts every possible id; others count as not found. */
  schema: z.ZodType<string, string>
  /** Returns the number of the row that the id may belong to. */
  toKey(id: string): number
  /** Selects the id of a row under an alias. */
  sql(row: string): string
}

/** The largest id that PostgreSQL assigns to a row. */
export const LAST_ROW = 2 ** 31 - 1

const NO_ID = 'must be the id of a record'

/** The number of a row, as text. */
export const resourceId = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, { error: NO_ID, abort: true })
  .refine((id) => Number(id) <= LAST_ROW, NO_ID)

export const rowIds: IdFormat = { schema: resourceId, toKey: Number, sql: (row) => `${row}.id::text` }
