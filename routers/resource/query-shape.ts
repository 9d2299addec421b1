import type { ResourceRecord } from './record.ts'

/** How many rows of a table that grows without bound an answer brings along by one include path. */
export const MAX_INCLUDED = 10_000

/** What makes two queries of a type differ in their text. */
export interface QueryShape {
  unrestricted: boolean
  sort: readonly string[]
  filters: readonly FilterUse[]
}

/** One of the texts of a filter. */
export interface FilterUse {
  name: string
  variant: string
}

export const createPlainShape = (unrestricted: boolean): QueryShape => ({ unrestricted, sort: [], filters: [] })

/** Equal where two queries of a type have one text. */
export const toShapeKey = ({ unrestricted, sort, filters }: QueryShape): string =>
  JSON.stringify([unrestricted, sort, filters.map(({ name, variant }) => [name, variant])])

/** A record beside what is told with it. */
export interface RecordRow {
  readonly record: ResourceRecord
}
/** With how many rows there are in all. */
export interface PageRow extends RecordRow {
  readonly total: number
  /** Where it stands in the whole list, from 1 on, where others may have asked for other pages of it. */
  readonly position?: number
}
/** With the id of the row that a relation led from. */
export interface RelatedRow extends RecordRow {
  readonly parent: string
}

/** What is done to one row. */
export type RowVerb = 'update' | 'delete'

/** Of a row that the caller sees: whether they may do to it what they want to. */
export interface Permission {
  readonly id: string
  readonly permitted: boolean
}
