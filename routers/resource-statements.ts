import { type Compiled, type Condition, compile, type Place } from '../entities/scope.ts'
import { columnOf, type Relation, type Resource } from './resource.ts'

/** What makes two queries of a type differ in their text. */
export interface Shape {
  admin: boolean
  sort: readonly string[]
  filters: readonly { shape: string; condition: Condition }[]
}

export const plainShape = (admin: boolean): Shape => ({ admin, sort: [], filters: [] })

/** The statements that read one type, each written when first needed. */
export class ResourceStatements {
  readonly #of: Resource
  readonly #resourceOf: (type: string) => Resource
  readonly #written = new Map<string, Compiled>()

  constructor(of: Resource, resourceOf: (type: string) => Resource) {
    this.#of = of
    this.#resourceOf = resourceOf
  }

  page(shape: Shape): Compiled {
    return this.#once('page', shape, (place) => `${this.#rows(shape, place)} ${this.#window(shape, place)}`)
  }

  count(shape: Shape): Compiled {
    return this.#once(
      'count',
      { ...shape, sort: [] },
      (place) => `select count(*)::int as total ${this.#from(shape, place)}`,
    )
  }

  byId(admin: boolean): Compiled {
    const shape = plainShape(admin)
    return this.#once('byId', shape, (place) => `${this.#rows(shape, place)} and t.id = ${place('id')}`)
  }

  byIds(admin: boolean): Compiled {
    const shape = plainShape(admin)
    return this.#once('byIds', shape, (place) => `${this.#rows(shape, place)} and t.id = any(${place('ids')})`)
  }

  /** Rows of this type that the relation of a parent leads to, each with the parent's id; whole, or a page of one parent's. */
  related(name: string, relation: Relation, shape: Shape, paged: boolean): Compiled {
    return this.#once(`related:${name}:${paged}`, shape, (place) => {
      const { parent, join, where } = pathOf(relation, place)
      const columns = `${this.#columns(shape, place)}, ${parent}::text as "$parent"`
      const rows = `select ${columns} ${this.#from(shape, place, join)} and ${where}`
      return paged ? `${rows} ${this.#window(shape, place)}` : `${rows} order by ${parent}, t.id`
    })
  }

  countRelated(name: string, relation: Relation, shape: Shape): Compiled {
    return this.#once(`countRelated:${name}`, { ...shape, sort: [] }, (place) => {
      const { join, where } = pathOf(relation, place)
      return `select count(*)::int as total ${this.#from(shape, place, join)} and ${where}`
    })
  }

  #once(kind: string, shape: Shape, write: (place: Place) => string): Compiled {
    const key = [kind, shape.admin, shape.sort.join(), ...shape.filters.map((filter) => filter.shape)].join('|')
    const known = this.#written.get(key)
    if (known) return known
    const compiled = compile(write)
    // Rare orders are many: PostgreSQL keeps no plan of theirs, and we keep no text.
    if (shape.sort.length > 1) return { ...compiled, statement: { ...compiled.statement, name: '' } }
    this.#written.set(key, compiled)
    return compiled
  }

  #rows(shape: Shape, place: Place): string {
    return `select ${this.#columns(shape, place)} ${this.#from(shape, place)}`
  }

  #columns({ admin }: Shape, place: Place): string {
    const { attributes, relations } = this.#of
    const visible = Object.entries(attributes).filter(([, { only }]) => !only || admin)
    const values = visible.map(([name, attribute]) => {
      const value = attribute.sql?.('t', place) ?? `t.${columnOf(name, attribute)}`
      return `${value} as "${name}"`
    })
    const links = Object.entries(relations).flatMap(([name, relation]) => this.#link(name, relation, place))
    return ['t.id::text as id', 't.xmin::text as "$version"', ...values, ...links].join(', ')
  }

  /** The id of a to-one relation; null where the caller may not see what it leads to. */
  #link(name: string, { to, path }: Relation, place: Place): string[] {
    if (!('column' in path)) return []
    if (path.alwaysVisible) return [`t.${path.column}::text as "$${name}"`]
    const { table, scope } = this.#resourceOf(to)
    return [`(select l.id::text from ${table} l where l.id = t.${path.column} and ${scope('l', place)}) as "$${name}"`]
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

/** How the rows of a relation hang together with their parents. */
function pathOf({ path }: Relation, place: Place): { parent: string; join: string; where: string } {
  if ('column' in path) throw new Error('a to-one relation is read by its id')
  const parent = 'through' in path ? `j.${path.from}` : `t.${path.inverse}`
  const join = 'through' in path ? `join ${path.through} j on j.${path.to} = t.id` : ''
  return { parent, join, where: `${parent} = any(${place('ids')})` }
}
