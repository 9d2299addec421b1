import type { EntityManager } from '@mikro-orm/core'
import { z } from 'zod'
import {
  everyRow,
  everyRowForAdminsAlone,
  type FilterPredicate,
  type ParameterBinder,
  type SqlPredicate,
} from '../../entities/sql/scope.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Vault } from '../ports/vault.ts'
import { type IdFormat, rowIds } from './ids.ts'

/** A row as far as it is known before its values on demand are found: its id, and those that its relations to one lead to. */
export interface FoundRow {
  readonly id: string
  readonly relations: Readonly<Record<string, { readonly id: string } | null>>
}

/** Finds the values of one attribute for rows that the caller sees, in their order. `viewer` is the id of the caller. */
export type FindValues = (rows: readonly FoundRow[], by: { sql: Sql; viewer: number }) => Promise<readonly unknown[]>

/** The row whose attribute is written, in the transaction that locked it. */
export interface AttributeWrite {
  em: EntityManager
  id: number
  vault: Vault
}

/** A filter: which values it takes, and the SQL for them, whose text knows a value by its variant alone. */
interface Filter<S extends z.ZodType = z.ZodType> {
  schema: S
  /** Which of the texts stands for a value. */
  variantOf(value: z.output<S>): string
  texts: Readonly<Record<string, FilterPredicate>>
}

/** A filter whose text is the same for all values. */
export const filter = <S extends z.ZodType>(schema: S, text: FilterPredicate): Filter<S> => ({
  schema,
  variantOf: () => 'any',
  texts: { any: text },
})

/** A filter with a text for each kind of value. */
export const filterByVariant = <S extends z.ZodType, V extends string>(
  schema: S,
  texts: Readonly<Record<V, FilterPredicate>>,
  variantOf: (value: z.output<S>) => NoInfer<V>,
): Filter<S> => ({ schema, variantOf, texts })

/** A filter that takes one of a few words, each with its text. */
export const choice = <V extends string>(description: string, texts: Readonly<Record<V, FilterPredicate>>) =>
  filterByVariant(z.enum(Object.keys(texts) as V[]).describe(description), texts, (word) => word as V)

interface MemberOptions {
  /** The property of the entity, where it has another name. */
  property?: string
  /** When it may be given: always, or only at one of the two. */
  write?: true | 'create' | 'update'
  /** What a new row gets where nothing is given. */
  default?: unknown
}

interface AttributeOptions extends MemberOptions {
  /** Its value for a row, where it is not just the column. */
  sql?: SqlPredicate
  /** SQL for its value, made from the column. */
  load?: (column: string) => string
  /** Whether `sort` accepts it: by its column, or by the properties that are named, in their order. */
  sort?: true | readonly string[]
  /** Left out for everybody else. */
  only?: 'admin'
  /** Left out where there is no value, rather than sent as null. */
  sparse?: true
  /** Left out unless it is asked for: what it says changes without a change of the row, of which clients would be told. */
  onDemand?: FindValues
  /** What is given, where that has another shape than what is read. */
  input?: z.ZodType
  /** What its column is sealed for: it is a secret. */
  sealed?: string
  /** Writes it where it is no column of the row, in the transaction that writes the row. */
  save?: (saving: AttributeWrite, value: unknown) => Promise<void>
}

export interface Attribute<S extends z.ZodType = z.ZodType> extends AttributeOptions {
  schema: S
}

/** An attribute by its shape, which carries its description. */
export function attribute<S extends z.ZodType>(schema: S): { schema: S }
export function attribute<S extends z.ZodType, const O extends AttributeOptions>(
  schema: S,
  options: O,
): { schema: S } & NoInfer<O>
export function attribute(schema: z.ZodType, options?: AttributeOptions): Attribute {
  return { schema, ...options }
}

export const time = z.iso.datetime({ precision: 3 })
const createdAt = time.describe('When it was made.')
const updatedAt = time.describe('When it was last changed.')

export const timestamps = { createdAt: attribute(createdAt), updatedAt: attribute(updatedAt) }
export const sortedTimestamps = {
  createdAt: attribute(createdAt, { sort: true }),
  updatedAt: attribute(updatedAt, { sort: true }),
}

interface RelationOptions extends MemberOptions {
  /** What the link means, where it is written. */
  about?: string
  /** Whoever sees the row sees the other, too. */
  alwaysVisible?: true
  /** How many rows it leads to from the parent, where there are too many to count: SQL, with the number of the parent. */
  total?: (parent: string, sql: ParameterBinder) => string
}

/** Where its rows are found, the metadata of the entity says. */
export interface Relation extends RelationOptions {
  /** A type, which must be there when the catalogue is made. */
  to: string
  many: boolean
}

/** One row; with `default: null`, or none. */
export const one = <const O extends RelationOptions = object>(to: string, options?: O) =>
  ({ to, many: false, ...options }) as { to: string; many: false } & NoInfer<O>

/** Many rows. */
export const many = <const O extends RelationOptions = object>(to: string, options?: O) =>
  ({ to, many: true, ...options }) as { to: string; many: true } & NoInfer<O>

export interface PageSizes {
  size: number
  max: number
}

/** By what is followed: a room, or what concerns one person. */
export interface Streams {
  room?: string
  user?: string
}

export type Attributes = Record<string, Attribute>
export type Relations = Record<string, Relation>
type Filters = Record<string, Filter>

/** The attributes that say so; `id` is always one. */
type SortOf<A extends Attributes> = {
  [K in keyof A]: A[K] extends { sort: true | readonly string[] } ? K : never
}[keyof A] &
  string

export interface Declaration<
  A extends Attributes = Attributes,
  L extends Relations = Relations,
  I extends string = string,
  F extends Filters = Filters,
> {
  type: string
  /** One sentence for the documentation. */
  about: string
  /** Its table, columns and keys are known from the metadata; absent where the records are computed. */
  entity?: object
  /**
   * For a small table that many read alike: callers who ask for the same in one turn of the event loop share one statement,
   * which is planned once, whatever its values, and which confirms those who were seen lately. Any other statement is planned with
   * its values.
   */
  coalesced?: true
  /** Which rows a caller sees. It stands in every statement that reads the table, whichever way it is reached. */
  scope?: SqlPredicate
  /** Which of them stand in lists: the others are found by their id, or by a link to one. */
  listed?: SqlPredicate
  /** How many rows a caller lists, where there are too many to count: SQL. */
  total?: (sql: ParameterBinder) => string
  /** Which of the rows that a caller sees they may change. Those who see every row may, unless something else is said. */
  mayUpdate?: SqlPredicate
  mayDelete?: SqlPredicate
  /** How its ids are written, where that is not just the number of the row. */
  ids?: IdFormat
  attributes: A
  relations?: L
  /**
   * Streams of the change log that its rows belong to: of each, the property of the entity with its number; or `all`, where
   * everybody is told.
   */
  streams?: Streams | 'all'
  /** Paths that `include` accepts, at most three deep: the relations unless said otherwise. */
  includes?: readonly I[]
  filters?: F
  /** Absent where a collection always comes whole. */
  page?: PageSizes
}

/** A resource as everything derived from it sees it. */
export interface Resource<
  A extends Attributes = Attributes,
  L extends Relations = Relations,
  I extends string = string,
  S extends string = string,
  F extends Filters = Filters,
> {
  type: string
  about: string
  entity: object | undefined
  coalesced?: true
  scope: SqlPredicate
  listed: SqlPredicate
  total?: (sql: ParameterBinder) => string
  mayUpdate: SqlPredicate
  mayDelete: SqlPredicate
  ids: IdFormat
  attributes: A
  relations: L
  streams: Streams | 'all'
  includes: readonly I[]
  sorts: readonly (S | 'id')[]
  filters: F
  page: PageSizes | undefined
}

export function defineResource<
  A extends Attributes,
  L extends Relations = Record<never, Relation>,
  I extends string = keyof L & string,
  F extends Filters = Record<never, Filter>,
>(declared: Declaration<A, L, I, F>): Resource<A, L, I, SortOf<A>, F>
export function defineResource(declared: Declaration): Resource {
  const { attributes, relations = {}, streams = {}, filters = {}, page, entity } = declared
  const sorts = Object.keys(attributes).filter((name) => attributes[name]?.sort)
  return {
    ...{ scope: everyRow, listed: everyRow, mayUpdate: everyRowForAdminsAlone, mayDelete: everyRowForAdminsAlone },
    ...{ ids: rowIds, ...declared },
    entity,
    relations,
    streams,
    includes: declared.includes ?? Object.keys(relations),
    sorts: entity ? ['id', ...sorts] : [],
    filters,
    page,
  }
}

export const cataloguePage: PageSizes = { size: 200, max: 1000 }
