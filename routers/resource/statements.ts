import { type CompiledStatement, compile, ParameterBinder, type SqlPredicate } from '../../entities/sql/scope.ts'
import { lookUp, type Statement } from '../../entities/sql/statement.ts'
import type { Attribute, FindValues, Relation, Resource } from './declare.ts'
import { rowIds } from './ids.ts'
import type { ColumnMapping, RelationMapping, ResourceLookup, TableMapping } from './mapping.ts'
import {
  createPlainShape,
  type FilterUse,
  MAX_INCLUDED,
  type PageRow,
  type Permission,
  type QueryShape,
  type RecordRow,
  type RelatedRow,
  type RowVerb,
  toShapeKey,
} from './query-shape.ts'

interface ReadOptions<Row> {
  /** Which callers share the rows, where those of the type do. */
  sharing?: 'equal' | 'byIds' | 'byKey' | undefined
  read?: Statement<Row>['read']
}

/** The statements that read one type, each written when first needed. */
export class ResourceStatements {
  readonly #of: Resource
  readonly #mapping: TableMapping
  readonly #others: ResourceLookup
  readonly #written = new Map<string, CompiledStatement<unknown>>()
  readonly #readRow: ReturnType<typeof createRowReader>
  /** The attributes that are not in its statements. */
  readonly onDemand: readonly [name: string, find: FindValues][]

  constructor(of: Resource, others: ResourceLookup) {
    this.#of = of
    this.#mapping = others.tableOf(of.type)
    this.#others = others
    this.#readRow = createRowReader(of, others)
    this.onDemand = Object.entries(of.attributes).flatMap(([name, { onDemand }]) =>
      onDemand ? [[name, onDemand]] : [],
    )
  }

  /** A page whose rows know how many there are in all. Pages of a coalesced type that are read together are one statement. */
  page(shape: QueryShape): CompiledStatement<PageRow> {
    const write = (sql: ParameterBinder) => {
      const from = this.#fromListed(shape, sql)
      const known = this.#total(shape, sql)
      if (this.#of.coalesced) return this.#positions(from, known, shape, sql)
      return `, (${selectTotalPerRow(from, known)}) as total ${from} ${this.#window(shape, sql)}`
    }
    return this.#records('page', shape, write, this.#of.coalesced ? 'byIds' : 'equal')
  }

  /** How many there are in all, where a page has no row to say so. */
  count(shape: QueryShape): CompiledStatement<{ total: number }> {
    return this.#once('count', { ...shape, sort: [] }, (sql) =>
      selectTotal(this.#fromListed(shape, sql), this.#total(shape, sql)),
    )
  }

  byIds(unrestricted: boolean): CompiledStatement<RecordRow> {
    return this.#records('byIds', createPlainShape(unrestricted), (sql) => this.#rows(sql), 'byKey')
  }

  /** The rows to which the relation of some parents leads; one more than may come along where a table grows without bound. */
  related(of: Resource, name: string, unrestricted: boolean): CompiledStatement<RelatedRow> {
    const shape = createPlainShape(unrestricted)
    const { parent, join } = joinParents(this.#relationOf(of, name))
    const write = (sql: ParameterBinder) => {
      const from = `${this.#fromListed(shape, sql, join)} and ${parent} = any(${sql.param('ids')})`
      const order = this.#of.coalesced ? `${parent}, t.id` : `${parent}, t.id limit ${MAX_INCLUDED + 1}`
      return `, ${parent}::text as parent ${from} order by ${order}`
    }
    return this.#records(`related:${of.type}.${name}`, shape, write, 'byIds')
  }

  /** A page of the rows that the relation of one parent leads to. */
  relatedPage(of: Resource, name: string, shape: QueryShape): CompiledStatement<PageRow> {
    return this.#records(`relatedPage:${of.type}.${name}`, shape, (sql) => {
      const relation = this.#relationOf(of, name)
      const from = this.#fromParent(relation, shape, sql)
      const total = selectTotalPerRow(from, relation.total?.(sql.param('parent'), sql))
      return `, (${total}) as total ${from} ${this.#window(shape, sql)}`
    })
  }

  countRelated(of: Resource, name: string, shape: QueryShape): CompiledStatement<{ total: number }> {
    return this.#once(`countRelated:${of.type}.${name}`, { ...shape, sort: [] }, (sql) => {
      const relation = this.#relationOf(of, name)
      return selectTotal(this.#fromParent(relation, shape, sql), relation.total?.(sql.param('parent'), sql))
    })
  }

  /** Whether the caller sees a row and may do this to it; nothing where that is true of all rows. */
  permission(verb: RowVerb, unrestricted: boolean): CompiledStatement<Permission> | undefined {
    const { scope, ids, [verb === 'update' ? 'mayUpdate' : 'mayDelete']: may } = this.#of
    const isOpen = (predicate: SqlPredicate) => predicate('t', new ParameterBinder(unrestricted)) === 'true'
    if (ids === rowIds && isOpen(scope) && isOpen(may)) return undefined
    const write = (sql: ParameterBinder) =>
      `select ${ids.sql('t')} as id, ${may('t', sql)} as permitted ${this.#rows(sql)}`
    return this.#once(`permission:${verb}`, createPlainShape(unrestricted), write, { sharing: 'byKey' })
  }

  /** Which of the rows with these numbers the caller sees. */
  visibleKeys(unrestricted: boolean): CompiledStatement<{ readonly key: number; readonly id: string }> {
    const write = (sql: ParameterBinder) => `select t.id as key, ${this.#of.ids.sql('t')} as id ${this.#rows(sql)}`
    return this.#once('visibleKeys', createPlainShape(unrestricted), write, { sharing: 'byKey' })
  }

  /** How a relation of another type leads to this one. */
  #relationOf = ({ type }: Resource, name: string) => this.#others.tableOf(type).relations[name] as RelationMapping

  #rows(sql: ParameterBinder): string {
    return `${this.#from(createPlainShape(sql.unrestricted), sql)} and t.id = any(${sql.param('ids')})`
  }

  /** Selects records, and what is written beside them. */
  #records<Row extends RecordRow>(
    kind: string,
    shape: QueryShape,
    writeRest: (sql: ParameterBinder) => string,
    sharing?: ReadOptions<Row>['sharing'],
  ): CompiledStatement<Row> {
    const write = (sql: ParameterBinder) =>
      `select ${recordSql(this.#of, this.#others, sql)} as record ${writeRest(sql)}`
    return this.#once<Row>(kind, shape, write, { sharing, read: this.#readRow })
  }

  #once<Row>(
    kind: string,
    shape: QueryShape,
    write: (sql: ParameterBinder) => string,
    { sharing = 'equal', read }: ReadOptions<Row> = {},
  ): CompiledStatement<Row> {
    const key = `${kind} ${toShapeKey(shape)}`
    const known = this.#written.get(key)
    if (known) return known as CompiledStatement<Row>
    // What is found by the primary key is found no faster by a plan of its own.
    const isByKey = sharing === 'byKey'
    const coalesced = this.#of.coalesced ? (isByKey ? 'byIds' : sharing) : undefined
    const plannedOnce = isByKey || coalesced !== undefined
    const compiled = compile({ unrestricted: shape.unrestricted, coalesced, plannedOnce, read }, write)
    // Rare orders are many: PostgreSQL keeps no plan of theirs, and we keep no text.
    if (shape.sort.length > 1) return { ...compiled, statement: { ...compiled.statement, name: '' } }
    this.#written.set(key, compiled)
    return compiled
  }

  #from({ filters }: QueryShape, sql: ParameterBinder, join = ''): string {
    const conditions = [this.#of.scope('t', sql), ...filters.map((filter) => this.#filterText(filter, sql))]
    return `from ${this.#mapping.table} t ${join} where ${conditions.join(' and ')}`
  }

  #fromListed(shape: QueryShape, sql: ParameterBinder, join = ''): string {
    const from = this.#from(shape, sql, join)
    const listed = this.#of.listed('t', sql)
    return listed === 'true' ? from : `${from} and ${listed}`
  }

  /** Of one parent alone, so that an index that begins with it has the rows in order. */
  #fromParent(relation: RelationMapping, shape: QueryShape, sql: ParameterBinder): string {
    const { parent, join } = joinParents(relation)
    return `${this.#fromListed(shape, sql, join)} and ${parent} = ${sql.param('parent')}`
  }

  #total({ filters }: QueryShape, sql: ParameterBinder): string | undefined {
    return filters.length === 0 ? this.#of.total?.(sql) : undefined
  }

  #filterText({ name, variant }: FilterUse, sql: ParameterBinder): string {
    const text = this.#of.filters[name]?.texts[variant]
    if (!text) throw new Error(`the filter ${name} has no text for ${variant}`)
    return `(${text('t', sql, sql.bindFilter(name))})`
  }

  #window({ sort }: QueryShape, sql: ParameterBinder): string {
    return `${this.#order(sort)} limit ${sql.param('limit')} offset ${sql.param('offset')}`
  }

  /** The rows at some positions of a list, which are the only ones that are written as records. `known` is how long it is. */
  #positions(from: string, known: string | undefined, { sort }: QueryShape, sql: ParameterBinder): string {
    const listed = `select t.id, row_number() over (${this.#order(sort)})::int as position, ${known ?? 'count(*) over ()::int'} as total ${from}`
    return `, listed.position, listed.total from (${listed}) listed join ${this.#mapping.table} t on ${lookUp('t.id', 'listed.id')}
      where listed.position = any(${sql.param('ids')}) order by listed.position`
  }

  /** Equal values come in one order on every page. */
  #order(sort: readonly string[]): string {
    const keys = sort.flatMap((key) => orderBy(this.#mapping, key))
    return `order by ${[...keys, 't.id'].join(', ')}`
  }
}

/** Counts the rows of a statement. */
const countRows = (from: string) => `select count(*)::int as total ${from}`

/** How many rows a statement has, where that is known without counting. Beside a row, which proves that there are some to see. */
const selectTotalPerRow = (from: string, known: string | undefined) => known ?? countRows(from)

/** The same, of its own: who sees no row is told of none. */
const selectTotal = (from: string, known: string | undefined) =>
  known === undefined ? countRows(from) : `select case when exists (select ${from}) then ${known} else 0 end as total`

/** How the rows of a relation hang together with their parents. */
function joinParents(link: RelationMapping): { parent: string; join: string } {
  if ('column' in link) throw new Error('a to-one relation is read by its id')
  const parent = 'pivot' in link ? `j.${link.from}` : `t.${link.foreignKey}`
  return { parent, join: 'pivot' in link ? `join ${link.pivot} j on j.${link.to} = t.id` : '' }
}

/** The columns of one key of `sort`. */
function orderBy({ orders, columns }: TableMapping, key: string): string[] {
  const [name, direction] = key.startsWith('-') ? [key.slice(1), 'desc'] : [key, 'asc']
  const names = orders[name] ?? [columns[name]?.column ?? 'id']
  return names.map((column) => `t.${column} ${direction}`)
}

/**
 * SQL for a row `t` as the record it stands for: its attributes, but those on demand, and the ids that its to-one relations lead to.
 * PostgreSQL sends it as JSON, which `rowReader` reads.
 */
function recordSql(of: Resource, others: ResourceLookup, sql: ParameterBinder): string {
  const { columns, relations: mapped } = others.tableOf(of.type)
  const visible = Object.entries(of.attributes).filter(
    ([, { only, onDemand }]) => !onDemand && (!only || sql.unrestricted),
  )
  const values = visible.map(
    ([name, attribute]) => `${attribute.sql?.('t', sql) ?? columnSql(attribute, columns[name])} as "${name}"`,
  )
  const links = listLinks(of).map(([name, relation]) => linkSql(relation, mapped[name], others, sql))
  const members = [
    `${of.ids.sql('t')} as id`,
    't.xmin::text as "rowVersion"',
    ...values,
    `array[${links.join(', ')}]::text[] as relations`,
  ]
  return `(select row_to_json(r) from (select ${members.join(', ')}) r)`
}

/** A row with a record as PostgreSQL sends it. */
interface SentRow {
  record: Record<string, unknown> & { relations: readonly (string | null)[] }
}

/** Makes rows of what is sent of them: records with links, with times as they are shown, and without sparse attributes that have no value. */
function createRowReader(of: Resource, { tableOf }: ResourceLookup): <Row extends RecordRow>(sent: object) => Row {
  const { columns } = tableOf(of.type)
  const times = Object.entries(of.attributes).flatMap(([name, attribute]) =>
    isSentAsTime(attribute, columns[name]) ? [name] : [],
  )
  const sparse = Object.keys(of.attributes).filter((name) => of.attributes[name]?.sparse)
  const links = listLinks(of).map(([name]) => name)
  const isPresent = ([name, value]: [string, unknown]) => value !== null || !sparse.includes(name)
  const read = (sent: SentRow['record']) => {
    const relations = Object.fromEntries(links.map((name, at) => [name, toLink(sent.relations[at])]))
    const record: Record<string, unknown> = { ...sent, relations }
    for (const name of times) if (record[name]) record[name] = formatTime(record[name] as string)
    return sparse.length > 0 ? Object.fromEntries(Object.entries(record).filter(isPresent)) : record
  }
  return <Row>(sent: object) => ({ ...sent, record: read((sent as SentRow).record) }) as Row
}

const listLinks = ({ relations }: Resource) => Object.entries(relations).filter(([, { many }]) => !many)

const toLink = (id: string | null | undefined) => (typeof id === 'string' ? { id } : null)

/** RFC 3339 text with milliseconds for a time in UTC as JSON of PostgreSQL has it, such as `2026-11-23T14:44:45.12`. */
const formatTime = (utc: string) => `${utc.padEnd(20, '.').padEnd(23, '0')}Z`

const isSentAsTime = ({ sql, load }: Attribute, column: ColumnMapping | undefined) =>
  !sql && !load && column?.isTime === true

function columnSql(attribute: Attribute, mapping: ColumnMapping | undefined): string {
  const column = `t.${mapping?.column}`
  if (attribute.load) return attribute.load(column)
  return isSentAsTime(attribute, mapping) ? `${column} at time zone 'utc'` : column
}

/** The id that a to-one relation leads to; null where the caller may not see it. */
function linkSql(
  { to, alwaysVisible }: Relation,
  link: RelationMapping | undefined,
  others: ResourceLookup,
  sql: ParameterBinder,
): string {
  if (!link || !('column' in link)) throw new Error('a to-many relation has no column')
  const { column, target } = link
  if (alwaysVisible) return `t.${column}::text`
  const row = sql.alias()
  const { scope, ids } = others.of(to)
  const isSeen = scope(row, sql)
  return `(select ${ids.sql(row)} from ${target} ${row} where ${row}.id = t.${column} and ${isSeen})`
}
