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

/** A row before its values on demand are found: its id, and those of its to-one relations. */
export interface FoundRow {
  readonly id: string
  readonly relations: Readonly<Record<string, { readonly id: string } | null>>
}

/** Finds the values of one attribute for visible rows, in their order. `viewer` is the id of the caller. */
export type FindValues = (rows: readonly FoundRow[], by: { sql: Sql; viewer: number }) => Promise<readonly unknown[]>

/** The row whose attribute is written, in the transaction that locked it. */
export interface AttributeWrite {
  em: EntityManager
  id: number
  vault: Vault
}

/**
 * A value of each row that clients do not get, such as a sealed text, and the function that completes the record by it. It runs in memory
 * for each row that is read, so it makes no query.
 */
export interface RowSource {
  /** SQL of the value, as JSON. */
  sql: SqlPredicate
  /** Returns the attributes that are declared as `fromSource`, and what derived relations need. */
  complete(value: unknown, vault: Vault): Readonly<Record<string, unknown>>
}

/** A filter: the values it accepts, and an SQL text for each variant of a value. */
interface Filter<S extends z.ZodType = z.ZodType> {
  schema: S
  /** Returns the variant of a value, which selects its text. */
  variantOf(value: z.output<S>): string
  texts: Readonly<Record<string, FilterPredicate>>
}

/** Declares a filter with one text for all values. */
export const filter = <S extends z.ZodType>(schema: S, text: FilterPredicate): Filter<S> => ({
  schema,
  variantOf: () => 'any',
  texts: { any: text },
})

/** Declares a filter with one text for each variant. */
export const filterByVariant = <S extends z.ZodType, V extends string>(
  schema: S,
  texts: Readonly<Record<V, FilterPredicate>>,
  variantOf: (value: z.output<S>) => NoInfer<V>,
): Filter<S> => ({ schema, variantOf, texts })

/** Declares a filter that accepts one of several words, each with its text. */
export const choice = <V extends string>(description: string, texts: Readonly<Record<V, FilterPredicate>>) =>
  filterByVariant(z.enum(Object.keys(texts) as V[]).describe(description), texts, (word) => word as V)

interface MemberOptions {
  /** The entity's property, if it has another name. */
  property?: string
  /** Set if it is writable: always, or only at creation or update. */
  write?: true | 'create' | 'update'
  /** The value of a new row if none is given. */
  default?: unknown
}

interface AttributeOptions extends MemberOptions {
  /** SQL of its value, if this is not just the column. */
  sql?: SqlPredicate
  /** Builds SQL of its value from the column. */
  load?: (column: string) => string
  /** Set if `sort` accepts it: by its own column, or by the listed properties in their order. */
  sort?: true | readonly string[]
  /** Set if the source of the row contains its value. */
  fromSource?: true
  /** Sent to administrators only. */
  only?: 'admin'
  /**
   * Set if changing it takes over people, keys or money: on every surface, the session must be fresh, and a token needs
   * the ability `admin`.
   */
  sensitive?: true
  /** Left out if it has no value, rather than sent as null. */
  sparse?: true
  /** Sent only on request, because its value changes without a change of the row that clients would be notified of. */
  onDemand?: FindValues
  /** Schema of its input, if it differs from that of its output. */
  input?: z.ZodType
  /** The purpose for which a secret column is sealed. */
  sealed?: string
  /** Writes a value that is no column of the row, in the transaction that writes the row. */
  save?: (saving: AttributeWrite, value: unknown) => Promise<void>
}

export interface Attribute<S extends z.ZodType = z.ZodType> extends AttributeOptions {
  schema: S
}

/** Declares an attribute by its schema, which contains its description. */
export function attribute<S extends z.ZodType>(schema: S): { schema: S }
export function attribute<S extends z.ZodType, const O extends AttributeOptions>(
  schema: S,
  options: O,
): { schema: S } & NoInfer<O>
export function attribute(schema: z.ZodType, options?: AttributeOptions): Attribute {
  return { schema, ...options }
}

export const time = z.iso.datetime({ precision: 3 })
const createdAt = time.describe('The time of creation.')
const updatedAt = time.describe('The time of the last change.')

export const timestamps = { createdAt: attribute(createdAt), updatedAt: attribute(updatedAt) }
export const sortedTimestamps = {
  createdAt: attribute(createdAt, { sort: true }),
  updatedAt: attribute(updatedAt, { sort: true }),
}

interface RelationOptions extends MemberOptions {
  /** The meaning of the link, if it is writable. */
  about?: string
  /** Set if everybody who sees the row sees the related row, too. */
  alwaysVisible?: true
  /** Builds the related records from the completed record of the row, if they are no rows of a table. */
  derive?: (record: { readonly id: string }, vault: Vault) => readonly FoundRow[]
  /** Accepts the ids of a writable relation, if they are no numbers of rows. */
  ids?: z.ZodType<string, string>
  /** SQL for the number of related rows of a parent, if there are too many to count. */
  total?: (parent: string, sql: ParameterBinder) => string
}

/** A relation; the entity's metadata tells where its rows are stored. */
export interface Relation extends RelationOptions {
  /** A type, which must exist when the catalogue is created. */
  to: string
  many: boolean
}

/** Declares a relation to one row; with `default: null` to at most one. */
export const one = <const O extends RelationOptions = object>(to: string, options?: O) =>
  ({ to, many: false, ...options }) as { to: string; many: false } & NoInfer<O>

/** Declares a relation to many rows. */
export const many = <const O extends RelationOptions = object>(to: string, options?: O) =>
  ({ to, many: true, ...options }) as { to: string; many: true } & NoInfer<O>

export interface PageSizes {
  size: number
  max: number
}

/** Properties with the id of the room or person in whose stream changes are published. */
export interface Streams {
  room?: string
  user?: string
}

export type Attributes = Record<string, Attribute>
export type Relations = Record<string, Relation>
type Filters = Record<string, Filter>

/** The sortable attributes; `id` is always sortable. */
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
  /** The entity, whose metadata contains table, columns and keys; absent if the records are computed. */
  entity?: object
  /**
   * Set for small tables that many callers read: equal reads in one turn of the event loop share one statement, which
   * is planned once. Any other statement is planned with its values.
   */
  coalesced?: true
  /** The rows that a caller sees. It is part of every statement that reads the table. */
  scope?: SqlPredicate
  /** The visible rows that lists contain; others are found by id or by a link. */
  listed?: SqlPredicate
  /** SQL for the number of rows that a caller lists, if there are too many to count. */
  total?: (sql: ParameterBinder) => string
  /** The visible rows that a caller may change; by default callers who see every row may. */
  mayUpdate?: SqlPredicate
  mayDelete?: SqlPredicate
  /** Format of its ids, if this is not the number of the row. */
  ids?: IdFormat
  source?: RowSource
  attributes: A
  relations?: L
  /** Streams of the change log that its rows belong to: the entity's property with the id of each, or `all`. */
  streams?: Streams | 'all'
  /** Paths that `include` accepts, at most three deep; by default all relations. */
  includes?: readonly I[]
  filters?: F
  /** Absent if a collection always comes whole. */
  page?: PageSizes
}

/** A complete declaration with defaults. */
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
  source?: RowSource
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
    scope: everyRow,
    listed: everyRow,
    mayUpdate: everyRowForAdminsAlone,
    mayDelete: everyRowForAdminsAlone,
    ids: rowIds,
    ...declared,
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
