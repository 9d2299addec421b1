import type { ParameterBinder } from '../../entities/sql/scope.ts'
import { isoTime } from '../../entities/sql/statement.ts'
import type { Attribute, Relation, Resource } from './declare.ts'
import type { ColumnMapping, RelationMapping, TypeFinder } from './mapping.ts'

/** SQL for a row `t` as the record it stands for: its attributes, but those on demand, and its to-one relations as links. PostgreSQL sends it as JSON. */
export function recordSql(of: Resource, others: TypeFinder, sql: ParameterBinder): string {
  const { columns, relations: mapped } = others.tableOf(of.type)
  const visible = Object.entries(of.attributes).filter(
    ([, { only, onDemand }]) => !onDemand && (!only || sql.unrestricted),
  )
  const values = visible.map(
    ([name, attribute]) => `${attribute.sql?.('t', sql) ?? columnSql(attribute, columns[name])} as "${name}"`,
  )
  const links = Object.entries(of.relations).filter(([, { many }]) => !many)
  const relations = links.map(([name, relation]) => `'${name}', ${linkSql(relation, mapped[name], others, sql)}`)
  const members = [
    `${of.ids.sql('t')} as id`,
    't.xmin::text as "rowVersion"',
    ...values,
    `json_build_object(${relations}) as relations`,
  ]
  return `(select row_to_json(r) from (select ${members.join(', ')}) r)`
}

function columnSql({ load }: Attribute, mapping: ColumnMapping | undefined): string {
  const { column = '', isTime } = mapping ?? {}
  return load ? load(`t.${column}`) : isTime ? isoTime(`t.${column}`) : `t.${column}`
}

/** What a to-one relation leads to, as a link; null where the caller may not see it. */
function linkSql(
  { to, alwaysVisible }: Relation,
  link: RelationMapping | undefined,
  others: TypeFinder,
  sql: ParameterBinder,
): string {
  if (!link || !('column' in link)) throw new Error('a to-many relation has no column')
  const { column, target } = link
  if (alwaysVisible) return `case when t.${column} is not null then json_build_object('id', t.${column}::text) end`
  const row = sql.alias()
  const { scope, ids } = others.of(to)
  const isSeen = scope(row, sql)
  return `(select json_build_object('id', ${ids.sql(row)}) from ${target} ${row} where ${row}.id = t.${column} and ${isSeen})`
}
