import { z } from 'zod'
import type { DeepReadonly } from '../../entities/sql/read-only.ts'
import type { FilterPredicate, SqlPredicate } from '../../entities/sql/scope.ts'
import { isoTime } from '../../entities/sql/statement.ts'

/** The v1 resource types. A relation may name only these. */
export const resourceTypes = [
  'ai-model-descriptions',
  'ai-model-flags',
  'ai-models',
  'ai-providers',
  'ai-tool-capabilities',
  'ai-tools',
  'configs',
  'connections',
  'mcp-servers',
  'migrations',
  'system-models',
  'system-prompts',
  'translation-labels',
  'user-keychain-values',
  'users',
] as const
export type ResourceType = (typeof resourceTypes)[number]

interface AttributeOptions {
  /** The column, where it is not the attribute's name in snake case. */
  column?: string
  /** Its value for a row, where it is not just the column. */
  sql?: SqlPredicate
  /** Left out for everybody else. */
  only?: 'admin'
  /** Left out where there is no value, rather than sent as null. */
  sparse?: true
}

export interface Attribute<S extends z.ZodType = z.ZodType> extends AttributeOptions {
  schema: S
}

/** The column of an attribute. */
export const columnOf = (name: string, { column }: AttributeOptions) =>
  column ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** An attribute by its shape, which carries its description. */
export const attribute = <S extends z.ZodType, const O extends AttributeOptions>(schema: S, options?: O) =>
  ({ schema, ...options }) as { schema: S } & NoInfer<O>

const time = z.iso.datetime({ precision: 3 })

export const timestamps = {
  createdAt: attribute(time.describe('When it was made.'), { sql: (row) => isoTime(`${row}.created_at`) }),
  updatedAt: attribute(time.describe('When it was last changed.'), { sql: (row) => isoTime(`${row}.updated_at`) }),
}

/** Where the rows of a relation are found. */
export type Path =
  | { column: string; alwaysVisible?: true }
  | { inverse: string }
  | { through: string; from: string; to: string }

export interface Relation {
  to: ResourceType
  many: boolean
  path: Path
}

/** One row, which `column` refers to. `alwaysVisible` where whoever sees the row sees the other, too. */
export const one = (to: ResourceType, path: { column: string; alwaysVisible?: true }): Relation => ({
  to,
  many: false,
  path,
})
/** Many rows, which refer back by a column or are joined through a table. */
export const many = (to: ResourceType, path: Exclude<Path, { column: string }>): Relation => ({ to, many: true, path })

/** A filter: which values it takes, and the SQL for them, whose text knows a value by its variant alone. */
export interface Filter<S extends z.ZodType = z.ZodType> {
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

export interface PageSizes {
  size: number
  max: number
}

type Attributes = Record<string, Attribute>

/** The words that queries of a type are made of. */
interface QueryWords {
  relation: string
  include: string
  sort: string
  filters: Record<string, Filter>
}

export interface Declaration<A extends Attributes = Attributes, Q extends QueryWords = QueryWords> {
  type: ResourceType
  /** One sentence for the documentation. */
  about: string
  /** Absent on a virtual resource. */
  table?: string
  /**
   * For a small table that many read alike: callers who ask for the same in one turn of the event loop share one statement,
   * which is planned once, whatever its values. Any other statement is planned with its values.
   */
  coalesced?: true
  /** Which rows a caller sees. It stands in every statement that reads the table, whichever way it is reached. */
  scope?: SqlPredicate
  attributes: A
  relations?: Record<Q['relation'], Relation>
  /** Paths that `include` accepts, at most three deep: the relations unless said otherwise. */
  includes?: readonly Q['include'][]
  /** Attributes that `sort` accepts; `id` is always one. */
  sorts?: readonly (Q['sort'] & keyof A)[]
  filters?: Q['filters']
  /** Absent where a collection always comes whole. */
  page?: PageSizes
}

/** A resource as everything derived from it sees it. */
export interface Resource<A extends Attributes = Attributes, Q extends QueryWords = QueryWords> {
  type: ResourceType
  about: string
  table: string | undefined
  coalesced?: true
  scope: SqlPredicate
  attributes: A
  relations: Record<Q['relation'], Relation>
  includes: readonly Q['include'][]
  sorts: readonly (Q['sort'] | 'id')[]
  filters: Q['filters']
  page: PageSizes | undefined
}

export function resource<
  A extends Attributes,
  R extends string = never,
  I extends string = R,
  S extends keyof A & string = never,
  F extends Record<string, Filter> = Record<never, Filter>,
>(
  declared: Declaration<A, { relation: R; include: I; sort: S; filters: F }>,
): Resource<A, { relation: R; include: I; sort: S; filters: F }>
export function resource(declared: Declaration): Resource {
  const { relations = {}, scope = () => 'true', filters = {}, sorts = [], page, table } = declared
  return {
    ...declared,
    table,
    scope,
    relations,
    includes: declared.includes ?? Object.keys(relations),
    sorts: table ? ['id', ...sorts] : [],
    filters,
    page,
  }
}

export const cataloguePage: PageSizes = { size: 200, max: 1000 }

type Hidden<T> = T extends { only: string } | { sparse: true } ? true : false

type Values<A extends Attributes> = {
  readonly [K in keyof A as Hidden<A[K]> extends true ? never : K]: DeepReadonly<z.output<A[K]['schema']>>
} & { readonly [K in keyof A as Hidden<A[K]> extends true ? K : never]?: DeepReadonly<z.output<A[K]['schema']>> }

/** What a list of a type can be asked for. */
export interface ListInput<R extends Resource> {
  include?: R['includes'][number][] | undefined
  /** A `-` in front of the name turns the order round. */
  sort?: (R['sorts'][number] | `-${R['sorts'][number]}`)[] | undefined
  filter?: { [Name in keyof R['filters']]?: z.input<R['filters'][Name]['schema']> | undefined } | undefined
  page?: { number?: number | undefined; size?: number | undefined } | undefined
}

/** A row as procedures return it. Relations hold an id, or whole records where they were included. */
export type RecordOf<R> = R extends Resource<infer A> ? Values<A> & Linked : never

/** Read-only, as all of a record: several requests may hold the same one. */
export interface Linked {
  readonly id: string
  /** Changes with every write of the row; an update can insist on it. */
  readonly rowVersion?: string
  readonly relations?: Readonly<Record<string, Linked | Linked[] | null>>
}

/** A record, and not just a link to it. */
export interface Whole extends Linked {
  readonly relations: Readonly<Record<string, Linked | Linked[] | null>>
}

/** What a procedure carries out on a resource. Path, method and status follow from it. */
export type Verb =
  | 'list'
  | 'get'
  | 'related'
  | 'linkage'
  | 'create'
  | 'update'
  | 'delete'
  /** A single resource with a name in place of an id, such as `me`. */
  | { member: string }
  /** A change of a to-many relation alone. */
  | { relationship: string; change: 'add' | 'replace' | 'remove' }
  /** A custom action, of one row where `ofOne`. */
  | { action: string; ofOne?: boolean }

export interface Exposure {
  resource: Resource
  verb: Verb
}

/** Tags a procedure with what it carries out; facades read it, and the procedure knows no wire. */
export const exposes = (resource: Resource, verb: Verb): { exposes: Exposure } => ({ exposes: { resource, verb } })
