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
  /** The callers that share rows, if the type is coalesced. */
  sharing?: 'equal' | 'byIds' | 'byKey' | undefined
  /** Column with the id of a row among those of the call, for rows that callers with other ids share. */
  idColumn?: (keyof Row & string) | undefined
  read?: Statement<Row>['read']
}

/** The number and the id of a row. */
interface VisibleKey {
  readonly key: number
  readonly id: string
}

type KeyedRow = RecordRow & Pick<VisibleKey, 'key'>

/** The statements that read one type, each compiled on first use. */
export class ResourceStatements {
  readonly #of: Resource
  readonly #mapping: TableMapping
  readonly #others: ResourceLookup
  readonly #compiled = new Map<string, CompiledStatement<unknown>>()
  readonly #readRow: ReturnType<typeof createRowReader>
  /** Attributes on demand, which its statements do not contain. */
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

  /** Selects a page with the total. Concurrent reads of a coalesced type's pages share one statement. */
  page(shape: QueryShape): CompiledStatement<PageRow> {
    const write = (sql: ParameterBinder) => {
      const from = this.#fromListed(shape, sql)
      const known = this.#total(shape, sql)
      if (this.#of.coalesced) return this.#positions(from, known, shape, sql)
      return `, (${selectTotalPerRow(from, known)}) as total ${from} ${this.#window(shape, sql)}`
    }
    const sharing = this.#of.coalesced ? 'byIds' : 'equal'
    return this.#records<PageRow>('page', shape, write, { sharing, idColumn: 'position' })
  }

  /** Counts all rows, for a page without rows. */
  count(shape: QueryShape): CompiledStatement<{ total: number }> {
    return this.#compileOnce('count', { ...shape, sort: [] }, (sql) =>
      selectTotal(this.#fromListed(shape, sql), this.#total(shape, sql)),
    )
  }

  byIds(isUnrestricted: boolean): CompiledStatement<RecordRow> {
    const write = (sql: ParameterBinder) => `, t.id as key ${this.#rows(sql)}`
    return this.#records<KeyedRow>('byIds', createPlainShape(isUnrestricted), write, {
      sharing: 'byKey',
      idColumn: 'key',
    })
  }

  /** Selects the related rows of some parents; one more than the limit if the table grows without bound. */
  related(of: Resource, name: string, isUnrestricted: boolean): CompiledStatement<RelatedRow> {
    const shape = createPlainShape(isUnrestricted)
    const { parent, join } = joinParents(this.#relationOf(of, name))
    const write = (sql: ParameterBinder) => {
      const from = `${this.#fromListed(shape, sql, join)} and ${parent} = any(${sql.param('ids')})`
      const order = this.#of.coalesced ? `${parent}, t.id` : `${parent}, t.id limit ${MAX_INCLUDED + 1}`
      return `, ${parent}::text as parent ${from} order by ${order}`
    }
    return this.#records<RelatedRow>(`related:${of.type}.${name}`, shape, write, {
      sharing: 'byIds',
      idColumn: 'parent',
    })
  }

  /** Selects a page of the related rows of one parent. */
  relatedPage(of: Resource, name: string, shape: QueryShape): CompiledStatement<PageRow> {
    return this.#records(`relatedPage:${of.type}.${name}`, shape, (sql) => {
      const relation = this.#relationOf(of, name)
      const from = this.#fromParent(relation, shape, sql)
      const total = selectTotalPerRow(from, relation.total?.(sql.param('parent'), sql))
      return `, (${total}) as total ${from} ${this.#window(shape, sql)}`
    })
  }

  countRelated(of: Resource, name: string, shape: QueryShape): CompiledStatement<{ total: number }> {
    return this.#compileOnce(`countRelated:${of.type}.${name}`, { ...shape, sort: [] }, (sql) => {
      const relation = this.#relationOf(of, name)
      return selectTotal(this.#fromParent(relation, shape, sql), relation.total?.(sql.param('parent'), sql))
    })
  }

  /** Selects visibility and permission of the caller for a row; undefined if both hold for all rows. */
  permission(verb: RowVerb, isUnrestricted: boolean): CompiledStatement<Permission> | undefined {
    const { scope, ids, [verb === 'update' ? 'mayUpdate' : 'mayDelete']: may } = this.#of
    const isOpen = (predicate: SqlPredicate) => predicate('t', new ParameterBinder(isUnrestricted)) === 'true'
    if (ids === rowIds && isOpen(scope) && isOpen(may)) return undefined
    const write = (sql: ParameterBinder) =>
      `select t.id as key, ${ids.sql('t')} as id, ${may('t', sql)} as "isPermitted" ${this.#rows(sql)}`
    return this.#compileOnce<Permission & VisibleKey>(`permission:${verb}`, createPlainShape(isUnrestricted), write, {
      sharing: 'byKey',
      idColumn: 'key',
    })
  }

  /** Selects the visible rows among some numbers. */
  visibleKeys(isUnrestricted: boolean): CompiledStatement<VisibleKey> {
    const write = (sql: ParameterBinder) => `select t.id as key, ${this.#of.ids.sql('t')} as id ${this.#rows(sql)}`
    return this.#compileOnce<VisibleKey>('visibleKeys', createPlainShape(isUnrestricted), write, {
      sharing: 'byKey',
      idColumn: 'key',
    })
  }

  /** Returns the mapping of another type's relation to this one. */
  #relationOf = ({ type }: Resource, name: string) => this.#others.tableOf(type).relations[name] as RelationMapping

  #rows(sql: ParameterBinder): string {
    return `${this.#from(createPlainShape(sql.isUnrestricted), sql)} and t.id = any(${sql.param('ids')})`
  }

  /** Selects records with further columns. */
  #records<Row extends RecordRow>(
    kind: string,
    shape: QueryShape,
    writeRest: (sql: ParameterBinder) => string,
    options: ReadOptions<Row> = {},
  ): CompiledStatement<Row> {
    const write = (sql: ParameterBinder) =>
      `select ${recordSql(this.#of, this.#others, sql)} as record ${writeRest(sql)}`
    return this.#compileOnce<Row>(kind, shape, write, { ...options, read: this.#readRow })
  }

  #compileOnce<Row>(
    kind: string,
    shape: QueryShape,
    write: (sql: ParameterBinder) => string,
    { sharing = 'equal', idColumn, read }: ReadOptions<Row> = {},
  ): CompiledStatement<Row> {
    const key = `${kind} ${toShapeKey(shape)}`
    const cached = this.#compiled.get(key)
    if (cached) return cached as CompiledStatement<Row>
    // A plan with values is no better for look-ups by primary key.
    const isByKey = sharing === 'byKey'
    const coalesced = this.#of.coalesced ? (isByKey ? 'byIds' : sharing) : undefined
    const plannedOnce = isByKey || coalesced !== undefined
    const compiled = compile({ isUnrestricted: shape.isUnrestricted, coalesced, idColumn, plannedOnce, read }, write)
    // Combinations of sort keys are rare and many, so neither PostgreSQL nor this class caches them.
    if (shape.sort.length > 1) return { ...compiled, statement: { ...compiled.statement, name: '' } }
    this.#compiled.set(key, compiled)
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

  /** Restricts to one parent, so that an index that begins with the parent provides the order. */
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

  /**
   * Selects rows at given positions of a list; only these are built as records. `known` is SQL for the length of the
   * list.
   */
  #positions(from: string, known: string | undefined, { sort }: QueryShape, sql: ParameterBinder): string {
    const listed = `select t.id, row_number() over (${this.#order(sort)})::int as position, ${known ?? 'count(*) over ()::int'} as total ${from}`
    return `, listed.position, listed.total from (${listed}) listed join ${this.#mapping.table} t on ${lookUp('t.id', 'listed.id')}
      where listed.position = any(${sql.param('ids')}) order by listed.position`
  }

  /** Sorts equal values by id, so that all pages have the same order. */
  #order(sort: readonly string[]): string {
    const keys = sort.flatMap((key) => orderBy(this.#mapping, key))
    return `order by ${[...keys, 't.id'].join(', ')}`
  }
}

/** Counts the rows of a statement. */
const countRows = (from: string) => `select count(*)::int as total ${from}`

/** SQL for the total beside a row; the row proves that the caller may know a total that was not counted. */
const selectTotalPerRow = (from: string, known: string | undefined) => known ?? countRows(from)

/** Statement for the total alone; it is 0 for callers who see no row. */
const selectTotal = (from: string, known: string | undefined) =>
  known === undefined ? countRows(from) : `select case when exists (select ${from}) then ${known} else 0 end as total`

/** Returns the column with the parent, and the join that it needs. */
function joinParents(link: RelationMapping): { parent: string; join: string } {
  if ('column' in link) throw new Error('a to-one relation is read by its id')
  const parent = 'pivot' in link ? `j.${link.from}` : `t.${link.foreignKey}`
  return { parent, join: 'pivot' in link ? `join ${link.pivot} j on j.${link.to} = t.id` : '' }
}

/** Returns the columns of one sort key. */
function orderBy({ orders, columns }: TableMapping, key: string): string[] {
  const [name, direction] = key.startsWith('-') ? [key.slice(1), 'desc'] : [key, 'asc']
  const names = orders[name] ?? [columns[name]?.column ?? 'id']
  return names.map((column) => `t.${column} ${direction}`)
}

/**
 * Builds SQL that makes a record of a row `t`: its attributes, except those on demand, and the ids of its to-one
 * relations. PostgreSQL sends it as JSON, which `createRowReader` reads.
 */
function recordSql(of: Resource, others: ResourceLookup, sql: ParameterBinder): string {
  const { columns, relations: mapped } = others.tableOf(of.type)
  const visible = Object.entries(of.attributes).filter(
    ([, { only, onDemand, fromSource }]) => !onDemand && !fromSource && (!only || sql.isUnrestricted),
  )
  const values = visible.map(
    ([name, attribute]) => `${attribute.sql?.('t', sql) ?? columnSql(attribute, columns[name])} as "${name}"`,
  )
  const links = listLinks(of).map(([name, relation]) => linkSql(relation, mapped[name], others, sql))
  const members = [
    `${of.ids.sql('t')} as id`,
    't.xmin::text as "rowVersion"',
    ...values,
    ...(of.source ? [`${of.source.sql('t', sql)} as "rowSource"`] : []),
    `array[${links.join(', ')}]::text[] as relations`,
  ]
  return `(select row_to_json(r) from (select ${members.join(', ')}) r)`
}

/** A row with a record as PostgreSQL sends it. */
interface SentRow {
  record: Record<string, unknown> & { relations: readonly (string | null)[] }
}

/**
 * Creates the function that completes received rows: it adds links, formats times, and drops sparse attributes without
 * a value.
 */
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

/** Formats a UTC time from PostgreSQL's JSON, such as `2026-11-23T14:44:45.12`, as RFC 3339 with milliseconds. */
const formatTime = (utc: string) => `${utc.padEnd(20, '.').padEnd(23, '0')}Z`

const isSentAsTime = ({ sql, load }: Attribute, column: ColumnMapping | undefined) =>
  !sql && !load && column?.isTime === true

function columnSql(attribute: Attribute, mapping: ColumnMapping | undefined): string {
  const column = `t.${mapping?.column}`
  if (attribute.load) return attribute.load(column)
  return isSentAsTime(attribute, mapping) ? `${column} at time zone 'utc'` : column
}

/** Builds SQL for the id of a to-one relation; null if the caller may not see the related row. */
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
