import type { EntityProperty, MetadataStorage } from '@mikro-orm/core'
import type { Attribute, Relation, Resource } from './declare.ts'
import { type ColumnMapping, mapTable, type RelationMapping, type TableMapping } from './mapping.ts'
import { ResourceStatements } from './statements.ts'

export interface ResourceCatalogue {
  readonly all: readonly Resource[]
  of(type: string): Resource
  tableOf(type: string): TableMapping
  statementsOf(type: string): ResourceStatements
  /** Tables of coalesced types, and tables whose rows are deleted with theirs. */
  readonly coalescedTables: readonly string[]
}

/** Indexes all declared types by name, with their tables and statements. */
export function createCatalogue(resources: readonly Resource[], metadata: MetadataStorage): ResourceCatalogue {
  const byType = new Map(resources.map((resource) => [resource.type, resource]))
  const tables = new Map(
    resources.flatMap((resource) => (resource.entity ? [[resource.type, mapTable(resource, metadata)]] : [])),
  )
  for (const resource of resources) verify(resource, byType, tables)
  const of = (type: string) => getOrThrow(byType, type, 'type')
  const tableOf = (type: string) => getOrThrow(tables, type, 'table')
  const statements = new Map(
    [...tables.keys()].map((type) => [type, new ResourceStatements(of(type), { of, tableOf })]),
  )
  return {
    all: resources,
    of,
    tableOf,
    statementsOf: (type) => getOrThrow(statements, type, 'table'),
    coalescedTables: addDependentTables(
      resources.flatMap(({ type, coalesced }) => (coalesced ? tableOf(type).table : [])),
      metadata,
    ),
  }
}

function addDependentTables(tables: readonly string[], metadata: MetadataStorage): string[] {
  const hangsOn = ({ deleteRule, targetMeta }: EntityProperty) =>
    deleteRule === 'cascade' && tables.includes(targetMeta?.tableName ?? '')
  return [...metadata].flatMap(({ tableName, relations }) =>
    tables.includes(tableName) || relations.some(hangsOn) ? [tableName] : [],
  )
}

function getOrThrow<T>(all: ReadonlyMap<string, T>, type: string, what: string): T {
  const found = all.get(type)
  if (!found) throw new Error(`there is no ${what} ${type}`)
  return found
}

const MAX_DEPTH = 3

/** Throws at startup if a declaration contradicts another one, itself or the tables. */
function verify(of: Resource, byType: ReadonlyMap<string, Resource>, tables: ReadonlyMap<string, TableMapping>): void {
  for (const [name, { to }] of Object.entries(of.relations))
    if (!byType.has(to)) throw new Error(`${of.type}.${name} leads to ${to}, which is no type`)
  for (const path of of.includes) verifyPath(of, path.split('.'), byType)
  for (const [name, attribute] of Object.entries(of.attributes)) verifyAttribute(`${of.type}.${name}`, attribute)
  const mapping = tables.get(of.type)
  if (mapping) verifyTable(of, mapping, tables)
}

function verifyTable(
  of: Resource,
  { columns, orders, relations }: TableMapping,
  tables: ReadonlyMap<string, TableMapping>,
) {
  for (const [name, column] of Object.entries(columns))
    verifyColumn(`${of.type}.${name}`, of.attributes[name] as Attribute, column)
  const unsortable = of.sorts.find((name) => name !== 'id' && !columns[name] && !orders[name])
  if (unsortable !== undefined) throw new Error(`${of.type}.${unsortable} is no column to sort by`)
  for (const [name, relation] of Object.entries(of.relations).filter(([, { derive }]) => !derive))
    verifyLink(`${of.type}.${name}`, relation, relations[name] as RelationMapping, tables.get(relation.to)?.table)
}

function verifyColumn(at: string, { schema, sql, sparse }: Attribute, { isNullable }: ColumnMapping): void {
  if (!sql && !sparse && accepts(schema, null) !== isNullable)
    throw new Error(`${at}: ${isNullable ? 'the column' : 'only the schema'} can be null`)
}

function verifyPath(of: Resource, path: readonly string[], byType: ReadonlyMap<string, Resource>): void {
  const end = path.reduce<Resource | undefined>((from, name) => byType.get(from?.relations[name]?.to ?? ''), of)
  if (!end || path.length > MAX_DEPTH) throw new Error(`${of.type} cannot include ${path.join('.')}`)
}

function verifyAttribute(name: string, { schema, input = schema, write, default: fallback }: Attribute): void {
  if (fallback !== undefined && !(write && accepts(input, fallback)))
    throw new Error(`${name}: its default is nothing that can be given`)
}

function verifyLink(at: string, { to, write, default: fallback }: Relation, link: RelationMapping, table?: string) {
  if (link.target !== table) throw new Error(`${at} leads to rows of ${link.target}, which are no ${to}`)
  if (write && 'column' in link && link.isNullable !== (fallback === null))
    throw new Error(`${at}: ${link.isNullable ? 'the column' : 'only the declaration'} can be null`)
}

const accepts = (schema: Attribute['schema'], value: unknown) => schema.safeParse(value).success
