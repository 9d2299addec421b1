import type { ResourceRecord } from './record.ts'

/** Rows per include path from tables that grow without bound. */
export const MAX_INCLUDED = 10_000

/** The properties of a query that determine its SQL text. */
export interface QueryShape {
  isUnrestricted: boolean
  sort: readonly string[]
  filters: readonly FilterUse[]
}

/** A filter with the variant of its text. */
export interface FilterUse {
  name: string
  variant: string
}

export const createPlainShape = (isUnrestricted: boolean): QueryShape => ({ isUnrestricted, sort: [], filters: [] })

/** Returns a key that is equal for queries with equal text. */
export const toShapeKey = ({ isUnrestricted, sort, filters }: QueryShape): string =>
  JSON.stringify([isUnrestricted, sort, filters.map(({ name, variant }) => [name, variant])])

/** A row of a statement: a record and data beside it. */
export interface RecordRow {
  readonly record: ResourceRecord
}
/** A record with the total number of rows. */
export interface PageRow extends RecordRow {
  readonly total: number
  /** Its position in the whole list, counted from 1, if the statement may contain rows of other pages. */
  readonly position?: number
}
/** A record with the id of the parent. */
export interface RelatedRow extends RecordRow {
  readonly parent: string
}

/** A change of one row. */
export type RowVerb = 'update' | 'delete'

/** Permission of the caller to change a visible row. */
export interface Permission {
  readonly id: string
  readonly isPermitted: boolean
}
