import type { EntityProperty, MetadataStorage } from '@mikro-orm/core'
import type { Resource } from './declare.ts'
import { mapTable, type TableMapping } from './mapping.ts'
import { ResourceStatements } from './statements.ts'
import { verify } from './verify.ts'

export interface ResourceCatalogue {
  readonly all: readonly Resource[]
  of(type: string): Resource
  tableOf(type: string): TableMapping
  statementsOf(type: string): ResourceStatements
  /** The tables of the types that many read alike, with those whose rows hang on theirs. */
  readonly coalescedTables: readonly string[]
}

/** All declared types by name, with their tables and the statements that were written for them so far. */
export function createCatalogue(resources: readonly Resource[], metadata: MetadataStorage): ResourceCatalogue {
  const byType = new Map(resources.map((resource) => [resource.type, resource]))
  const tables = new Map(
    resources.flatMap((resource) => (resource.entity ? [[resource.type, mapTable(resource, metadata)]] : [])),
  )
  for (const resource of resources) verify(resource, byType, tables)
  const of = (type: string) => known(byType, type, 'type')
  const tableOf = (type: string) => known(tables, type, 'table')
  const statements = new Map(
    [...tables.keys()].map((type) => [type, new ResourceStatements(of(type), { of, tableOf })]),
  )
  return {
    all: resources,
    of,
    tableOf,
    statementsOf: (type) => known(statements, type, 'table'),
    coalescedTables: withDependents(
      resources.flatMap(({ type, coalesced }) => (coalesced ? tableOf(type).table : [])),
      metadata,
    ),
  }
}

function withDependents(tables: readonly string[], metadata: MetadataStorage): string[] {
  const hangsOn = ({ deleteRule, targetMeta }: EntityProperty) =>
    deleteRule === 'cascade' && tables.includes(targetMeta?.tableName ?? '')
  return [...metadata].flatMap(({ tableName, relations }) =>
    tables.includes(tableName) || relations.some(hangsOn) ? [tableName] : [],
  )
}

function known<T>(all: ReadonlyMap<string, T>, type: string, what: string): T {
  const found = all.get(type)
  if (!found) throw new Error(`there is no ${what} ${type}`)
  return found
}
