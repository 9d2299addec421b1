import type { Sql } from '../../entities/sql/statement.ts'

/** A row as far as it is known before its values on demand are found: its id, and those that its relations to one lead to. */
export interface FoundRow {
  readonly id: string
  readonly relations: Readonly<Record<string, { readonly id: string } | null>>
}

/** Finds the values of one attribute for rows that the caller sees, in their order. `viewer` is the id of the caller. */
export type FindValues = (rows: readonly FoundRow[], by: { sql: Sql; viewer: number }) => Promise<readonly unknown[]>
