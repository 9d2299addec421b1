import { createHash } from 'node:crypto'
import type { Statement } from './statement.ts'

/** The caller in the form of statement parameters. */
export interface Viewer {
  /** The person's id; 0 for a guest. */
  viewer: number
  usage: string
  /** The groups of the person; null for access to the models of all groups. */
  groups: readonly string[] | null
  /** The models to which the token is bound; null for all. */
  models: readonly string[] | null
  locale: string
  defaultLocale: string
  /** The name of the service. */
  brand: string
}

const types = {
  viewer: 'int',
  usage: 'text',
  groups: 'text[]',
  models: 'text[]',
  locale: 'text',
  defaultLocale: 'text',
  brand: 'text',
  ids: 'int[]',
  parent: 'int',
  limit: 'int',
  offset: 'int',
} as const

export type ParameterName = keyof typeof types
export type ParameterValues = Partial<Record<ParameterName, unknown>> & {
  /** The values of filters, by the name of the filter. */
  filters?: Readonly<Record<string, unknown>>
}

/** The PostgreSQL types that a filter's value can have. */
type ValueType = 'int' | 'int[]' | 'text' | 'text[]' | 'boolean' | 'timestamptz'

/** SQL of a condition on a row under an alias. */
export type SqlPredicate = (row: string, sql: ParameterBinder) => string
/** SQL of a condition on a row and a filter's value; `value` binds the whole value or one of its members. */
export type FilterPredicate = (row: string, sql: ParameterBinder, value: BindValue) => string
export type BindValue = (type: ValueType, member?: string) => string

/** Builds one statement: numbers its parameters and table aliases. Values never become part of the text. */
export class ParameterBinder {
  /** True for statements of administrators, who see every row. */
  readonly isUnrestricted: boolean
  readonly #plannedOnce: boolean
  readonly #readers = new Map<string, (given: ParameterValues) => unknown>()
  #aliases = 0

  constructor(isUnrestricted: boolean, { plannedOnce = false } = {}) {
    this.isUnrestricted = isUnrestricted
    this.#plannedOnce = plannedOnce
  }

  /** Returns the placeholder of a common parameter. */
  param(name: ParameterName): string {
    return this.#placeholder(name, types[name], (given) => given[name])
  }

  /** Returns a function that binds the value of a filter. */
  bindFilter(filter: string): BindValue {
    return (type, member) => {
      const read = ({ filters }: ParameterValues) => {
        const value = filters?.[filter]
        return member === undefined ? value : (value as Record<string, unknown>)[member]
      }
      return this.#placeholder(`filter ${filter} ${member ?? ''}`, type, read)
    }
  }

  /** Returns a unique table alias, also for nested scopes. */
  alias(): string {
    this.#aliases += 1
    return `t${this.#aliases}`
  }

  /** Builds an `exists` condition on a table. */
  exists(table: string, where: (row: string) => string): string {
    const row = this.alias()
    return `exists (select from ${table} ${row} where ${where(row)})`
  }

  /** Builds a subquery for one column of one row. */
  selectColumn(table: string, column: string, where: (row: string) => string): string {
    const row = this.alias()
    return `(select ${row}.${column} from ${table} ${row} where ${where(row)})`
  }

  /** Builds a subquery for one column of all matching rows, ordered by it. */
  selectArray(table: string, column: string, where: (row: string) => string, order = 'asc'): string {
    const row = this.alias()
    return `array(select ${row}.${column} from ${table} ${row} where ${where(row)} order by 1 ${order})`
  }

  /** Functions that read the values, in the order of the placeholders. */
  get readers(): ((given: ParameterValues) => unknown)[] {
    return [...this.#readers.values()]
  }

  /** Returns the position of a parameter among the placeholders. */
  indexOf(name: ParameterName): number {
    return [...this.#readers.keys()].indexOf(name)
  }

  #placeholder(key: string, type: string, read: (given: ParameterValues) => unknown): string {
    if (!this.#readers.has(key)) this.#readers.set(key, read)
    const placeholder = `$${[...this.#readers.keys()].indexOf(key) + 1}::${type}`
    // The planner does not look into a subquery, so the statement keeps one generic plan.
    return this.#plannedOnce ? `(select ${placeholder})::${type}` : placeholder
  }
}

/** A statement with named parameters. */
export interface CompiledStatement<Row> {
  statement: Statement<Row>
  values(given: ParameterValues): unknown[]
}

interface CompileOptions<Row> {
  /** True for statements of callers who see every row. */
  isUnrestricted: boolean
  /**
   * The callers that share rows: those with equal values or, for `byIds`, those whose values differ only in the ids.
   */
  coalesced?: 'equal' | 'byIds' | undefined
  /** Column with the id of a row, as in `Statement`; needed for `byIds`. */
  idColumn?: Statement<Row>['idColumn'] | undefined
  /** True if the statement has one plan for all values; otherwise PostgreSQL may plan each call with its values. */
  plannedOnce: boolean
  /** Reads a row, as in `Statement`. */
  read?: Statement<Row>['read']
}

/** Builds a statement for all calls. Its name is a hash of its text, so equal texts share one plan. */
export function compile<Row>(
  { isUnrestricted, coalesced, idColumn, plannedOnce, read }: CompileOptions<Row>,
  write: (sql: ParameterBinder) => string,
): CompiledStatement<Row> {
  const binder = new ParameterBinder(isUnrestricted, { plannedOnce })
  const text = write(binder)
  const { readers } = binder
  const statement: Statement<Row> = {
    name: createHash('sha1').update(text).digest('base64url'),
    text,
    ...(read && { read }),
    ...(coalesced && { coalesced: true }),
    ...(coalesced === 'byIds' && idColumn && { idsAt: binder.indexOf('ids'), idColumn }),
  }
  return { statement, values: (given) => readers.map((read) => read(given)) }
}

export const everyRow: SqlPredicate = () => 'true'

/** Shows rows only to callers who see every row. */
export const everyRowForAdminsAlone: SqlPredicate = (_, sql) => (sql.isUnrestricted ? 'true' : 'false')

/** Returns everything to administrators. Separate statements let PostgreSQL use joins instead of a look-up per row. */
export const everyRowForAdmins =
  (others: SqlPredicate): SqlPredicate =>
  (row, sql) =>
    sql.isUnrestricted ? 'true' : others(row, sql)
