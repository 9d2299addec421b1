import {
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  type MetadataStorage,
  ReferenceKind,
} from '@mikro-orm/core'
import type { Relation, Resource } from './declare.ts'

/** Finds other types, for relations. */
export interface ResourceLookup {
  of(type: string): Resource
  tableOf(type: string): TableMapping
}

/** The mapping of a type to its table, read from the entity's metadata. */
export interface TableMapping {
  entity: EntityName<Row>
  table: string
  /** Columns by attribute, without attributes that are computed or stored elsewhere. */
  columns: Readonly<Record<string, ColumnMapping>>
  /** Unique attributes, by the name of their constraint. */
  uniques: Readonly<Record<string, string>>
  /** Sort columns by attribute, if they differ from its own column. */
  orders: Readonly<Record<string, readonly string[]>>
  relations: Readonly<Record<string, RelationMapping>>
}

/** The ORM's types cannot describe an entity of any type, so only the common properties are typed. */
export type Row = { id: number; updatedAt: Date }

export interface ColumnMapping {
  column: string
  isNullable: boolean
  isTime: boolean
}

/** A to-one relation is a column of its own row; a to-many one is a column of the other rows or a pivot table. */
export type RelationMapping = { target: string; total?: Relation['total'] } & (
  | { column: string; isNullable: boolean }
  | { foreignKey: string }
  | PivotMapping
)

export interface PivotMapping {
  pivot: string
  from: string
  to: string
}

/** Maps a type to its table; throws if the declaration names properties that the entity does not have. */
export function mapTable(of: Resource, metadata: MetadataStorage): TableMapping {
  const meta = metadata.get(of.entity as EntityName<Row>)
  return {
    entity: of.entity as EntityName<Row>,
    table: meta.tableName,
    columns: Object.fromEntries(
      Object.entries(of.attributes).flatMap(([name, { property = name, sql, save, onDemand, fromSource }]) => {
        const known = propertiesOf(meta)[property]
        if (fromSource) return []
        if (known && !save) return [[name, mapColumn(known)]]
        if (sql || save || onDemand) return []
        throw new Error(`${of.type}.${name}: the entity ${meta.className} has no property ${property}`)
      }),
    ),
    uniques: Object.fromEntries(
      Object.entries(of.attributes).flatMap(([name, { property = name }]) => {
        const known = propertiesOf(meta)[property]
        return known?.unique ? [[`${meta.tableName}_${mapColumn(known).column}_unique`, name]] : []
      }),
    ),
    orders: Object.fromEntries(
      Object.entries(of.attributes).flatMap(([name, { sort }]) =>
        Array.isArray(sort)
          ? [[name, sort.map((property) => mapColumn(findProperty(of, meta, name, property)).column)]]
          : [],
      ),
    ),
    relations: Object.fromEntries(
      Object.entries(of.relations).flatMap(([name, relation]) => {
        const { property = name, derive } = relation
        return derive ? [] : [[name, mapRelation(findProperty(of, meta, name, property), relation)]]
      }),
    ),
  }
}

function findProperty({ type }: Resource, meta: EntityMetadata<Row>, name: string, property: string): EntityProperty {
  const known = propertiesOf(meta)[property]
  if (!known) throw new Error(`${type}.${name}: the entity ${meta.className} has no property ${property}`)
  return known
}

const propertiesOf = ({ properties }: Pick<EntityMetadata, 'properties'>) =>
  properties as Partial<Record<string, EntityProperty>>

const mapColumn = ({ fieldNames: [column = ''], nullable, runtimeType }: EntityProperty): ColumnMapping => ({
  column,
  isNullable: nullable === true,
  isTime: runtimeType === 'Date',
})

function mapRelation(property: EntityProperty, { many, total }: Relation): RelationMapping {
  const { kind, fieldNames, nullable, pivotTable, joinColumns, inverseJoinColumns, targetMeta, mappedBy } = property
  if (many !== [ReferenceKind.ONE_TO_MANY, ReferenceKind.MANY_TO_MANY].includes(kind))
    throw new Error(`${property.name} leads to ${many ? 'one row' : 'many rows'}`)
  const target = targetMeta?.tableName ?? ''
  if (!many) return { target, column: fieldNames[0] as string, isNullable: nullable === true }
  if (kind === ReferenceKind.MANY_TO_MANY)
    return { target, pivot: pivotTable, from: joinColumns[0] as string, to: inverseJoinColumns[0] as string }
  const inverse = targetMeta && propertiesOf(targetMeta)[mappedBy]
  return { target, foreignKey: inverse?.fieldNames[0] as string, ...(total && { total }) }
}
