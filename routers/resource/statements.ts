import { type CompiledStatement, compile, type ParameterBinder } from '../../entities/sql/scope.ts'
import { columnOf, type Linked, type Relation, type Resource, type Whole } from './declare.ts'

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

/** What a row says beside its record. */
export interface Read {
  record: Whole
  /** How many rows there are in all, on a page. */
  total: number
  /** The id of the row that a relation led from; else the row's own. */
  belongsTo: string
}

/** The statements that read one type, each written when first needed. */
export class ResourceStatements {
  readonly #of: Resource
  readonly #resourceOf: (type: string) => Resource
  readonly #written = new Map<string, CompiledStatement>()
  readonly #links: [name: string, Relation][]
  readonly #sparse: string[]

  constructor(of: Resource, resourceOf: (type: string) => Resource) {
    this.#of = of
    this.#resourceOf = resourceOf
    this.#links = Object.entries(of.relations).filter(([, { many }]) => !many)
    this.#sparse = Object.keys(of.attributes).filter((name) => of.attributes[name]?.sparse)
  }

  /**
   * Makes a row the record it stands for. What is no attribute comes as one text, where the relations will be: so the
   * row need not be copied, which would take longer than all the rest of reading it.
   */
  read(row: Record<string, unknown>): Read {
    const [total = '', parent = '', ...ids] = (row['relations'] as string).split(' ')
    const relations: Record<string, Linked | null> = {}
    for (const [index, [name]] of this.#links.entries())
      relations[name] = ids[index] === NOTHING ? null : { id: ids[index] as string }
    row['relations'] = relations
    for (const name of this.#sparse) if (row[name] === null) delete row[name]
    const record = row as unknown as Whole
    return { record, total: Number(total), belongsTo: parent === NOTHING ? record.id : parent }
  }

  /** A page whose rows know how many there are in all. */
  page(shape: QueryShape): CompiledStatement {
    return this.#once('page', shape, (sql) => {
      const from = this.#from(shape, sql)
      return `select ${this.#columns(sql, { total: countOf(from) })} ${from} ${this.#window(shape, sql)}`
    })
  }

  /** How many there are in all, where a page has no row to say so. */
  count(shape: QueryShape): CompiledStatement {
    return this.#once('count', { ...shape, sort: [] }, (sql) => countOf(this.#from(shape, sql)))
  }

  byIds(unrestricted: boolean): CompiledStatement {
    const shape = plainShape(unrestricted)
    return this.#once('byIds', shape, (sql) => `${this.#rows(shape, sql)} and t.id = any(${sql.param('ids')})`)
  }

  /** Rows of this type that the relation of a parent leads to, each with the parent's id; whole, or a page of one parent's. */
  related(name: string, relation: Relation, shape: QueryShape, paged: boolean): CompiledStatement {
    return this.#once(`related:${name}:${paged}`, shape, (sql) => {
      const { parent, join, where } = pathOf(relation, sql)
      const from = `${this.#from(shape, sql, join)} and ${where}`
      if (paged) return `select ${this.#columns(sql, { total: countOf(from) })} ${from} ${this.#window(shape, sql)}`
      return `select ${this.#columns(sql, { parent })} ${from} order by ${parent}, t.id`
    })
  }

  countRelated(name: string, relation: Relation, shape: QueryShape): CompiledStatement {
    return this.#once(`countRelated:${name}`, { ...shape, sort: [] }, (sql) => {
      const { join, where } = pathOf(relation, sql)
      return countOf(`${this.#from(shape, sql, join)} and ${where}`)
    })
  }

  #once(kind: string, shape: QueryShape, write: (sql: ParameterBinder) => string): CompiledStatement {
    const filters = shape.filters.map(({ name, variant }) => [name, variant])
    const key = JSON.stringify([kind, shape.unrestricted, shape.sort, filters])
    const known = this.#written.get(key)
    if (known) return known
    const compiled = compile(shape.unrestricted, write)
    // Rare orders are many: PostgreSQL keeps no plan of theirs, and we keep no text.
    if (shape.sort.length > 1) return { ...compiled, statement: { ...compiled.statement, name: '' } }
    this.#written.set(key, compiled)
    return compiled
  }

  #rows(shape: QueryShape, sql: ParameterBinder): string {
    return `select ${this.#columns(sql)} ${this.#from(shape, sql)}`
  }

  #columns(sql: ParameterBinder, { total = `'${NOTHING}'`, parent = `'${NOTHING}'` } = {}): string {
    const visible = Object.entries(this.#of.attributes).filter(([, { only }]) => !only || sql.unrestricted)
    const values = visible.map(([name, attribute]) => {
      const value = attribute.sql?.('t', sql) ?? `t.${columnOf(name, attribute)}`
      return `${value} as "${name}"`
    })
    const links = this.#links.map(([, relation]) => `coalesce(${this.#link(relation, sql)}, '${NOTHING}')`)
    const beside = `concat_ws(' ', (${total}), ${[parent, ...links].join(', ')}) as relations`
    return ['t.id::text as id', 't.xmin::text as "rowVersion"', beside, ...values].join(', ')
  }

  /** The id of a to-one relation; null where the caller may not see what it leads to. */
  #link({ to, path }: Relation, sql: ParameterBinder): string {
    if (!('column' in path)) throw new Error('a to-many relation has no column')
    if (path.alwaysVisible) return `t.${path.column}::text`
    const { table, scope } = this.#resourceOf(to)
    const row = sql.alias()
    return `(select ${row}.id::text from ${table} ${row} where ${row}.id = t.${path.column} and ${scope(row, sql)})`
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

/** Stands where there is nothing, in the text beside the attributes of a row. */
const NOTHING = '-'

const countOf = (from: string) => `select count(*)::int as total ${from}`

/** How the rows of a relation hang together with their parents. */
function pathOf({ path }: Relation, sql: ParameterBinder): { parent: string; join: string; where: string } {
  if ('column' in path) throw new Error('a to-one relation is read by its id')
  const parent = 'through' in path ? `j.${path.from}` : `t.${path.inverse}`
  const join = 'through' in path ? `join ${path.through} j on j.${path.to} = t.id` : ''
  return { parent, join, where: `${parent} = any(${sql.param('ids')})` }
}
