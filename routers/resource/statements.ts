import { type CompiledStatement, compile, type ParameterBinder } from '../../entities/sql/scope.ts'
import { columnOf, type Relation, type Resource, type Whole } from './declare.ts'

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

export const plainShape = (unrestricted: boolean): QueryShape => ({ unrestricted, sort: [], filters: [] })

/** A record beside what is told with it. */
export interface RecordRow {
  readonly record: Whole
}
/** With how many rows there are in all. */
export interface PageRow extends RecordRow {
  readonly total: number
}
/** With the id of the row that a relation led from. */
export interface RelatedRow extends RecordRow {
  readonly parent: string
}

/** The statements that read one type, each written when first needed. PostgreSQL sends a record as JSON. */
export class ResourceStatements {
  readonly #of: Resource
  readonly #resourceOf: (type: string) => Resource
  readonly #written = new Map<string, CompiledStatement<unknown>>()
  readonly #sparse: readonly string[]

  constructor(of: Resource, resourceOf: (type: string) => Resource) {
    this.#of = of
    this.#resourceOf = resourceOf
    this.#sparse = Object.keys(of.attributes).filter((name) => of.attributes[name]?.sparse)
  }

  /** The record of a row, without sparse attributes that have no value. */
  recordOf({ record }: RecordRow): Whole {
    if (this.#sparse.length === 0) return record
    const present = Object.entries(record).filter(([name, value]) => value !== null || !this.#sparse.includes(name))
    return Object.fromEntries(present) as unknown as Whole
  }

  /** A page whose rows know how many there are in all. */
  page(shape: QueryShape): CompiledStatement<PageRow> {
    return this.#once('page', shape, (sql) => {
      const from = this.#from(shape, sql)
      return `select ${this.#record(sql)}, (${countOf(from)}) as total ${from} ${this.#window(shape, sql)}`
    })
  }

  /** How many there are in all, where a page has no row to say so. */
  count(shape: QueryShape): CompiledStatement<{ total: number }> {
    return this.#once('count', { ...shape, sort: [] }, (sql) => countOf(this.#from(shape, sql)))
  }

  byIds(unrestricted: boolean): CompiledStatement<RecordRow> {
    const shape = plainShape(unrestricted)
    const write = (sql: ParameterBinder) =>
      `select ${this.#record(sql)} ${this.#from(shape, sql)} and t.id = any(${sql.param('ids')})`
    return this.#once('byIds', shape, write, 'byIds')
  }

  /** All rows of this type that the relation of some parents leads to. */
  related(name: string, relation: Relation, unrestricted: boolean): CompiledStatement<RelatedRow> {
    const shape = plainShape(unrestricted)
    const write = (sql: ParameterBinder) => {
      const { parent, join, where } = pathOf(relation, sql)
      const from = `${this.#from(shape, sql, join)} and ${where}`
      return `select ${this.#record(sql)}, ${parent}::text as parent ${from} order by ${parent}, t.id`
    }
    return this.#once(`related:${name}`, shape, write, 'byIds')
  }

  /** A page of the rows that the relation of one parent leads to. */
  relatedPage(name: string, relation: Relation, shape: QueryShape): CompiledStatement<PageRow> {
    return this.#once(`relatedPage:${name}`, shape, (sql) => {
      const { join, where } = pathOf(relation, sql)
      const from = `${this.#from(shape, sql, join)} and ${where}`
      return `select ${this.#record(sql)}, (${countOf(from)}) as total ${from} ${this.#window(shape, sql)}`
    })
  }

  countRelated(name: string, relation: Relation, shape: QueryShape): CompiledStatement<{ total: number }> {
    return this.#once(`countRelated:${name}`, { ...shape, sort: [] }, (sql) => {
      const { join, where } = pathOf(relation, sql)
      return countOf(`${this.#from(shape, sql, join)} and ${where}`)
    })
  }

  #once<Row>(
    kind: string,
    shape: QueryShape,
    write: (sql: ParameterBinder) => string,
    sharing: 'equal' | 'byIds' = 'equal',
  ): CompiledStatement<Row> {
    const filters = shape.filters.map(({ name, variant }) => [name, variant])
    const key = JSON.stringify([kind, shape.unrestricted, shape.sort, filters])
    const known = this.#written.get(key)
    if (known) return known as CompiledStatement<Row>
    const { unrestricted } = shape
    const compiled = compile<Row>({ unrestricted, coalesced: this.#of.coalesced ? sharing : undefined }, write)
    // Rare orders are many: PostgreSQL keeps no plan of theirs, and we keep no text.
    if (shape.sort.length > 1) return { ...compiled, statement: { ...compiled.statement, name: '' } }
    this.#written.set(key, compiled)
    return compiled
  }

  /** A row as the record it stands for: its attributes, and the to-one relations as links. */
  #record(sql: ParameterBinder): string {
    const visible = Object.entries(this.#of.attributes).filter(([, { only }]) => !only || sql.unrestricted)
    const values = visible.map(([name, attribute]) => {
      const value = attribute.sql?.('t', sql) ?? `t.${columnOf(name, attribute)}`
      return `${value} as "${name}"`
    })
    const links = Object.entries(this.#of.relations).filter(([, { many }]) => !many)
    const relations = links.map(([name, relation]) => `'${name}', ${this.#link(relation, sql)}`)
    const members = [
      't.id::text as id',
      't.xmin::text as "rowVersion"',
      ...values,
      `json_build_object(${relations}) as relations`,
    ]
    return `(select row_to_json(r) from (select ${members.join(', ')}) r) as record`
  }

  /** What a to-one relation leads to, as a link; null where the caller may not see it. */
  #link({ to, path }: Relation, sql: ParameterBinder): string {
    if (!('column' in path)) throw new Error('a to-many relation has no column')
    if (path.alwaysVisible)
      return `case when t.${path.column} is not null then json_build_object('id', t.${path.column}::text) end`
    const { table, scope } = this.#resourceOf(to)
    const row = sql.alias()
    return `(select json_build_object('id', ${row}.id::text) from ${table} ${row} where ${row}.id = t.${path.column} and ${scope(row, sql)})`
  }

  #from({ filters }: QueryShape, sql: ParameterBinder, join = ''): string {
    const conditions = [this.#of.scope('t', sql), ...filters.map((filter) => this.#filterText(filter, sql))]
    return `from ${this.#of.table} t ${join} where ${conditions.join(' and ')}`
  }

  #filterText({ name, variant }: FilterUse, sql: ParameterBinder): string {
    const text = this.#of.filters[name]?.texts[variant]
    if (!text) throw new Error(`the filter ${name} has no text for ${variant}`)
    return `(${text('t', sql, sql.valueOf(name))})`
  }

  #window({ sort }: QueryShape, sql: ParameterBinder): string {
    const keys = sort.map((key) => `${this.#sortColumn(key.replace(/^-/, ''))} ${key.startsWith('-') ? 'desc' : 'asc'}`)
    // Equal values come in one order on every page.
    return `order by ${[...keys, 't.id'].join(', ')} limit ${sql.param('limit')} offset ${sql.param('offset')}`
  }

  #sortColumn(name: string): string {
    const attribute = this.#of.attributes[name]
    return attribute ? `t.${columnOf(name, attribute)}` : 't.id'
  }
}

const countOf = (from: string) => `select count(*)::int as total ${from}`

/** How the rows of a relation hang together with their parents. */
function pathOf({ path }: Relation, sql: ParameterBinder): { parent: string; join: string; where: string } {
  if ('column' in path) throw new Error('a to-one relation is read by its id')
  const parent = 'through' in path ? `j.${path.from}` : `t.${path.inverse}`
  const join = 'through' in path ? `join ${path.through} j on j.${path.to} = t.id` : ''
  return { parent, join, where: `${parent} = any(${sql.param('ids')})` }
}
