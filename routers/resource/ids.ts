import { z } from 'zod'

/** How the ids of a type are written. */
export interface IdFormat {
  /** Takes what could be an id: anything else is not there. */
  schema: z.ZodType<string, string>
  /** The number of the row that could have it. */
  keyOf(id: string): number
  /** Selects it for a row under an alias. */
  sql(row: string): string
}

/** PostgreSQL numbers no row beyond it. */
const LAST_ROW = 2 ** 31 - 1

const NO_ID = 'must be the id of a record'

/** The number of a row, as text. */
export const resourceId = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, { error: NO_ID, abort: true })
  .refine((id) => Number(id) <= LAST_ROW, NO_ID)

export const rowIds: IdFormat = { schema: resourceId, keyOf: Number, sql: (row) => `${row}.id::text` }
