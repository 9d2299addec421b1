import {
  type EntityMetadata,
  type EntityName,
  type EntityProperty,
  type MetadataStorage,
  ReferenceKind,
} from '@mikro-orm/core'
import type { Relation, Resource } from './declare.ts'

/** Finds other types, which relations lead to. */
export interface ResourceLookup {
  of(type: string): Resource
  tableOf(type: string): TableMapping
}

/** Where a type is kept, as the metadata of its entity says. */
export interface TableMapping {
  entity: EntityName<Row>
  table: string
  /** By attribute; without those that are computed or kept elsewhere. */
  columns: Readonly<Record<string, ColumnMapping>>
  /** The attributes whose values are unique, by the constraint that sees to it. */
  uniques: Readonly<Record<string, string>>
  /** The columns to sort by, by attribute, where they are not just its own. */
  orders: Readonly<Record<string, readonly string[]>>
  relations: Readonly<Record<string, RelationMapping>>
}

/** Inside, a row is only something with an id: the ORM's types cannot follow an entity that is any of them. */
export type Row = { id: number; updatedAt: Date }

export interface ColumnMapping {
  column: string
  isNullable: boolean
  isTime: boolean
}

/** A to-one relation is a column of its own row, a to-many one a column of the others or a table between the two. */
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

/** Throws where the declaration names what the entity does not have. */
export function mapTable(of: Resource, metadata: MetadataStorage): TableMapping {
  const meta = metadata.get(of.entity as EntityName<Row>)
  return {
    entity: of.entity as EntityName<Row>,
    table: meta.tableName,
    columns: Object.fromEntries(
      Object.entries(of.attributes).flatMap(([name, { property = name, sql, save, onDemand }]) => {
        const known = propertiesOf(meta)[property]
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
      Object.entries(of.relations).map(([name, relation]) => {
        const { property = name } = relation
        return [name, mapRelation(findProperty(of, meta, name, property), relation)]
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
