import { createHash } from 'node:crypto'
import type { Statement } from './statement.ts'

/** What is known of a caller, as values of a statement. */
export interface Viewer {
  /** The person's id; 0 for nobody. */
  viewer: number
  usage: string
  locale: string
  defaultLocale: string
}

const types = {
  viewer: 'int',
  usage: 'text',
  locale: 'text',
  defaultLocale: 'text',
  ids: 'int[]',
  limit: 'int',
  offset: 'int',
} as const

export type ParameterName = keyof typeof types
export type ParameterValues = Partial<Record<ParameterName, unknown>> & {
  /** The values of filters, by the name of the filter. */
  filters?: Readonly<Record<string, unknown>>
}

/** The types of PostgreSQL that the value of a filter can have. */
type ValueType = 'int' | 'int[]' | 'text' | 'text[]' | 'boolean' | 'timestamptz'

/** SQL for a row under an alias. */
export type SqlPredicate = (row: string, sql: ParameterBinder) => string
/** SQL for a row under an alias and the value of a filter, which `value` binds: whole, or one member of it. */
export type FilterPredicate = (row: string, sql: ParameterBinder, value: BindValue) => string
export type BindValue = (type: ValueType, member?: string) => string

/** Writes one statement: gives values their places and tables their aliases. What a caller sent never becomes text. */
export class ParameterBinder {
  /** Whether the statement is written for those who may administer, and so see every row. */
  readonly unrestricted: boolean
  readonly #plannedOnce: boolean
  readonly #readers = new Map<string, (given: ParameterValues) => unknown>()
  #aliases = 0

  constructor(unrestricted: boolean, { plannedOnce = false } = {}) {
    this.unrestricted = unrestricted
    this.#plannedOnce = plannedOnce
  }

  /** The place of a value that every statement may use. */
  param(name: ParameterName): string {
    return this.#place(name, types[name], (given) => given[name])
  }

  /** Binds the value of one filter, apart from those of all others. */
  valueOf(filter: string): BindValue {
    return (type, member) => {
      const read = ({ filters }: ParameterValues) => {
        const value = filters?.[filter]
        return member === undefined ? value : (value as Record<string, unknown>)[member]
      }
      return this.#place(`filter ${filter} ${member ?? ''}`, type, read)
    }
  }

  /** A name for a table that no other part of the statement has, however deep the scopes are nested. */
  alias(): string {
    this.#aliases += 1
    return `t${this.#aliases}`
  }

  /** Whether the table has a row like that. */
  exists(table: string, where: (row: string) => string): string {
    const row = this.alias()
    return `exists (select from ${table} ${row} where ${where(row)})`
  }

  /** A column of the one row like that. */
  look(table: string, column: string, where: (row: string) => string): string {
    const row = this.alias()
    return `(select ${row}.${column} from ${table} ${row} where ${where(row)})`
  }

  /** A column of all rows like that, in its order. */
  list(table: string, column: string, where: (row: string) => string, order = 'asc'): string {
    const row = this.alias()
    return `array(select ${row}.${column} from ${table} ${row} where ${where(row)} order by 1 ${order})`
  }

  /** What reads each value, in the order of their places. */
  get readers(): ((given: ParameterValues) => unknown)[] {
    return [...this.#readers.values()]
  }

  /** Where a value stands among those of the statement. */
  indexOf(name: ParameterName): number {
    return [...this.#readers.keys()].indexOf(name)
  }

  #place(key: string, type: string, read: (given: ParameterValues) => unknown): string {
    if (!this.#readers.has(key)) this.#readers.set(key, read)
    const place = `$${[...this.#readers.keys()].indexOf(key) + 1}::${type}`
    // The planner does not look into a subquery: it finds no plan cheaper for some values, and so keeps one for all.
    return this.#plannedOnce ? `(select ${place})::${type}` : place
  }
}

/** A statement whose values are given by name. */
export interface CompiledStatement<Row> {
  statement: Statement<Row>
  values(given: ParameterValues): unknown[]
}

interface CompileOptions {
  /** Whether the statement is written for those who see every row. */
  unrestricted: boolean
  /**
   * Whether callers share its rows: those with equal values, or, `byIds`, those whose values differ in nothing but the ids.
   * Such a statement is planned once; any other is planned with its values, as long as that is cheaper.
   */
  coalesced?: 'equal' | 'byIds' | undefined
}

/** Writes a statement once, for as many calls as come. The name follows from the text, so equal texts share one plan. */
export function compile<Row>(
  { unrestricted, coalesced }: CompileOptions,
  write: (sql: ParameterBinder) => string,
): CompiledStatement<Row> {
  const binder = new ParameterBinder(unrestricted, { plannedOnce: coalesced !== undefined })
  const text = write(binder)
  const { readers } = binder
  const statement: Statement<Row> = {
    name: createHash('sha1').update(text).digest('base64url'),
    text,
    ...(coalesced && { coalesced: true }),
    ...(coalesced === 'byIds' && { idsAt: binder.indexOf('ids') }),
  }
  return { statement, values: (given) => readers.map((read) => read(given)) }
}

export const everyRow: SqlPredicate = () => 'true'

/** Texts of their own for administrators and for others let PostgreSQL join what it would else look up row by row. */
export const everyRowForAdmins =
  (others: SqlPredicate): SqlPredicate =>
  (row, sql) =>
    sql.unrestricted ? 'true' : others(row, sql)
