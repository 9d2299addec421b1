import { type Compiled, type Condition, compile, type Place } from '../../entities/sql/scope.ts'
import { columnOf, type Linked, type Relation, type Resource, type Whole } from './declare.ts'

/** What makes two queries of a type differ in their text. */
export interface Shape {
  admin: boolean
  sort: readonly string[]
  filters: readonly { shape: string; condition: Condition }[]
}

export const plainShape = (admin: boolean): Shape => ({ admin, sort: [], filters: [] })

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
  readonly #written = new Map<string, Compiled>()
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
  page(shape: Shape): Compiled {
    return this.#once('page', shape, (place) => {
      const from = this.#from(shape, place)
      return `select ${this.#columns(place, { total: countOf(from) })} ${from} ${this.#window(shape, place)}`
    })
  }

  /** How many there are in all, where a page has no row to say so. */
  count(shape: Shape): Compiled {
    return this.#once('count', { ...shape, sort: [] }, (place) => countOf(this.#from(shape, place)))
  }

  byIds(admin: boolean): Compiled {
    const shape = plainShape(admin)
    return this.#once('byIds', shape, (place) => `${this.#rows(shape, place)} and t.id = any(${place('ids')})`)
  }

  /** Rows of this type that the relation of a parent leads to, each with the parent's id; whole, or a page of one parent's. */
  related(name: string, relation: Relation, shape: Shape, paged: boolean): Compiled {
    return this.#once(`related:${name}:${paged}`, shape, (place) => {
      const { parent, join, where } = pathOf(relation, place)
      const from = `${this.#from(shape, place, join)} and ${where}`
      if (paged) return `select ${this.#columns(place, { total: countOf(from) })} ${from} ${this.#window(shape, place)}`
      return `select ${this.#columns(place, { parent })} ${from} order by ${parent}, t.id`
    })
  }

  countRelated(name: string, relation: Relation, shape: Shape): Compiled {
    return this.#once(`countRelated:${name}`, { ...shape, sort: [] }, (place) => {
      const { join, where } = pathOf(relation, place)
      return countOf(`${this.#from(shape, place, join)} and ${where}`)
    })
  }

  #once(kind: string, shape: Shape, write: (place: Place) => string): Compiled {
    const key = [kind, shape.admin, shape.sort.join(), ...shape.filters.map((filter) => filter.shape)].join('|')
    const known = this.#written.get(key)
    if (known) return known
    const compiled = compile(shape.admin, write)
    // Rare orders are many: PostgreSQL keeps no plan of theirs, and we keep no text.
    if (shape.sort.length > 1) return { ...compiled, statement: { ...compiled.statement, name: '' } }
    this.#written.set(key, compiled)
    return compiled
  }

  #rows(shape: Shape, place: Place): string {
    return `select ${this.#columns(place)} ${this.#from(shape, place)}`
  }

  #columns(place: Place, { total = `'${NOTHING}'`, parent = `'${NOTHING}'` } = {}): string {
    const visible = Object.entries(this.#of.attributes).filter(([, { only }]) => !only || place.forAdmin)
    const values = visible.map(([name, attribute]) => {
      const value = attribute.sql?.('t', place) ?? `t.${columnOf(name, attribute)}`
      return `${value} as "${name}"`
    })
    const links = this.#links.map(([, relation]) => `coalesce(${this.#link(relation, place)}, '${NOTHING}')`)
    const beside = `concat_ws(' ', (${total}), ${[parent, ...links].join(', ')}) as relations`
    return ['t.id::text as id', 't.xmin::text as "rowVersion"', beside, ...values].join(', ')
  }

  /** The id of a to-one relation; null where the caller may not see what it leads to. */
  #link({ to, path }: Relation, place: Place): string {
    if (!('column' in path)) throw new Error('a to-many relation has no column')
    if (path.alwaysVisible) return `t.${path.column}::text`
    const { table, scope } = this.#resourceOf(to)
    return `(select l.id::text from ${table} l where l.id = t.${path.column} and ${scope('l', place)})`
  }

  #from({ filters }: Shape, place: Place, join = ''): string {
    const conditions = [this.#of.scope, ...filters.map(({ condition }) => condition)]
    return `from ${this.#of.table} t ${join} where ${conditions.map((condition) => condition('t', place)).join(' and ')}`
  }

  #window({ sort }: Shape, place: Place): string {
    const keys = sort.map((key) => `${this.#sortColumn(key.replace(/^-/, ''))} ${key.startsWith('-') ? 'desc' : 'asc'}`)
    // Equal values come in one order on every page.
    return `order by ${[...keys, 't.id'].join(', ')} limit ${place('limit')} offset ${place('offset')}`
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
function pathOf({ path }: Relation, place: Place): { parent: string; join: string; where: string } {
  if ('column' in path) throw new Error('a to-one relation is read by its id')
  const parent = 'through' in path ? `j.${path.from}` : `t.${path.inverse}`
  const join = 'through' in path ? `join ${path.through} j on j.${path.to} = t.id` : ''
  return { parent, join, where: `${parent} = any(${place('ids')})` }
}
