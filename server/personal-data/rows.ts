import { type EntityMetadata, type EntityProperty, type MetadataStorage, ReferenceKind } from '@mikro-orm/core'
import { compile, type ParameterBinder, type SqlPredicate, type Viewer } from '../../entities/sql/scope.ts'
import { isoTime } from '../../entities/sql/statement.ts'
import { type ResourceObject, writeRecord } from '../../facades/json-api/document.ts'
import type { DocumentContext } from '../../facades/json-api/members.ts'
import type { RecordServices } from '../../routers/core/services.ts'
import type { Vault } from '../../routers/ports/vault.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import { createPlainShape } from '../../routers/resource/query-shape.ts'
import { ResourceStatements } from '../../routers/resource/statements.ts'
import { buildOwnerPredicate, type PersonalTable } from './contents.ts'

export interface RowParts {
  records: RecordServices
  vault: Vault
  metadata: MetadataStorage
  documentContext: DocumentContext
  viewer: Viewer
}

/** The rows of a person in one table as JSON:API resource objects, in batches. */
export interface PersonalRows {
  type: string
  batches: AsyncIterable<Pick<ResourceObject, 'type' | 'id' | 'attributes'>[]>
}

/** Writes rows of a declared type as JSON:API does, and rows of other tables by their columns. */
export function readPersonalRows(table: PersonalTable, parts: RowParts): PersonalRows {
  const predicate = buildOwnerPredicate(table, parts.metadata)
  const resource = table.columns ? undefined : findResource(table, parts)
  if (resource) return { type: resource.type, batches: readResources(resource, predicate, parts) }
  const meta = parts.metadata.get(table.entity as never) as EntityMetadata
  const type = table.type ?? toTypeName(meta)
  return { type, batches: readColumns(meta, { type, predicate, columns: table.columns, open: table.open }, parts) }
}

/** Finds the declared type of a table; rows that the service completes in memory are written by their columns. */
const findResource = ({ entity: table }: PersonalTable, { records }: RowParts) =>
  records.resources.all.find(({ entity, source }) => entity === table && !source)

const toTypeName = ({ tableName }: Pick<EntityMetadata, 'tableName'>) => tableName.replaceAll('_', '-')

const ALL = 2 ** 31 - 1

/** Rows in memory at a time. A message may have 180 KB. */
const BATCH = 100

async function* readResources(
  resource: Resource,
  predicate: SqlPredicate,
  { records, documentContext, viewer }: RowParts,
) {
  const { total: _, coalesced: __, ...declared } = resource
  const statements = new ResourceStatements({ ...declared, scope: predicate, listed: () => 'true' }, records.resources)
  const { statement, values } = statements.page(createPlainShape(false))
  for await (const rows of records.readInBatches(statement, values({ ...viewer, limit: ALL, offset: 0 }), BATCH))
    yield rows.map((row) => writeRecord(documentContext, resource, (statement.read?.(row) ?? row).record))
}

interface ColumnSelection extends Pick<PersonalTable, 'columns'> {
  type: string
  predicate: SqlPredicate
  open: PersonalTable['open'] | undefined
}

async function* readColumns(meta: EntityMetadata, columns: ColumnSelection, { records, viewer, vault }: RowParts) {
  const { open } = columns
  const { statement, values } = compile<{ object: ResourceObject }>(
    { isUnrestricted: false, plannedOnce: false },
    (sql) => selectObjects(meta, columns, sql),
  )
  for await (const rows of records.readInBatches(statement, values(viewer), BATCH))
    yield rows.map(({ object }) => (open ? { ...object, attributes: open(object.attributes, vault) } : object))
}

/**
 * Builds SQL for resource objects of a table without a declared type. Hidden columns are left out, and references
 * become relationships.
 */
function selectObjects(
  meta: EntityMetadata,
  { type, predicate, columns: expressions }: ColumnSelection,
  sql: ParameterBinder,
): string {
  const columns = meta.props.filter(isExported)
  const keys = meta.props.filter(({ primary }) => primary).map(({ fieldNames: [column] }) => `t.${column}`)
  const attributes = expressions
    ? Object.entries(expressions).map(([name, value]) => `'${name}', ${value('t', sql)}`)
    : columns.filter((property) => !isReference(property) && !property.primary).map(writeAttribute)
  const relationships = expressions ? [] : columns.filter(isReference).map(writeRelationship)
  const members = [
    `'type', '${type}'`,
    `'id', ${writeId(meta, keys)}`,
    `'attributes', json_build_object(${attributes.join(', ')})`,
    ...(relationships.length > 0 ? [`'relationships', json_build_object(${relationships.join(', ')})`] : []),
  ]
  return `select json_build_object(${members.join(', ')}) as object from ${meta.tableName} t
    where ${predicate('t', sql)} order by ${keys.join(', ')}`
}

/** Numbers the rows if the key is hidden, because it is a secret then. */
const writeId = ({ props }: EntityMetadata, keys: readonly string[]) =>
  props.some(({ primary, hidden }) => primary && hidden)
    ? `(row_number() over (order by ${keys.join(', ')}))::text`
    : `concat_ws('-', ${keys.join(', ')})`

const isReference = ({ kind }: EntityProperty) =>
  kind === ReferenceKind.MANY_TO_ONE || kind === ReferenceKind.ONE_TO_ONE

const isExported = ({ kind, hidden, persist, fieldNames }: EntityProperty) =>
  !hidden && persist !== false && fieldNames?.length === 1 && kind !== ReferenceKind.ONE_TO_MANY

function writeAttribute({
  name,
  fieldNames: [column = ''],
  runtimeType,
  columnTypes: [type = ''],
}: EntityProperty): string {
  const isTime = runtimeType === 'Date' && type.startsWith('timestamp')
  return `'${name}', ${isTime ? isoTime(`t.${column}`) : `t.${column}`}`
}

const writeRelationship = ({ name, fieldNames: [column = ''], targetMeta }: EntityProperty) =>
  `'${name}', json_build_object('data', case when t.${column} is not null then json_build_object('type', '${toTypeName({ tableName: targetMeta?.tableName ?? '' })}', 'id', t.${column}::text) end)`
