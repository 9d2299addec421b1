import type { ParameterBinder } from '../../entities/sql/scope.ts'
import type { Attribute, Relation, Resource } from './declare.ts'
import type { ColumnMapping, RelationMapping, TypeFinder } from './mapping.ts'
import type { RecordRow } from './query-shape.ts'

/**
 * SQL for a row `t` as the record it stands for: its attributes, but those on demand, and the ids that its to-one relations lead to.
 * PostgreSQL sends it as JSON, which `rowReader` reads.
 */
export function recordSql(of: Resource, others: TypeFinder, sql: ParameterBinder): string {
  const { columns, relations: mapped } = others.tableOf(of.type)
  const visible = Object.entries(of.attributes).filter(
    ([, { only, onDemand }]) => !onDemand && (!only || sql.unrestricted),
  )
  const values = visible.map(
    ([name, attribute]) => `${attribute.sql?.('t', sql) ?? columnSql(attribute, columns[name])} as "${name}"`,
  )
  const links = linksOf(of).map(([name, relation]) => linkSql(relation, mapped[name], others, sql))
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
export function rowReader(of: Resource, { tableOf }: TypeFinder): <Row extends RecordRow>(sent: object) => Row {
  const { columns } = tableOf(of.type)
  const times = Object.entries(of.attributes).flatMap(([name, attribute]) =>
    isSentAsTime(attribute, columns[name]) ? [name] : [],
  )
  const sparse = Object.keys(of.attributes).filter((name) => of.attributes[name]?.sparse)
  const links = linksOf(of).map(([name]) => name)
  const isPresent = ([name, value]: [string, unknown]) => value !== null || !sparse.includes(name)
  const read = (sent: SentRow['record']) => {
    const relations = Object.fromEntries(links.map((name, at) => [name, linkTo(sent.relations[at])]))
    const record: Record<string, unknown> = { ...sent, relations }
    for (const name of times) if (record[name]) record[name] = timeOf(record[name] as string)
    return sparse.length > 0 ? Object.fromEntries(Object.entries(record).filter(isPresent)) : record
  }
  return <Row>(sent: object) => ({ ...sent, record: read((sent as SentRow).record) }) as Row
}

const linksOf = ({ relations }: Resource) => Object.entries(relations).filter(([, { many }]) => !many)

const linkTo = (id: string | null | undefined) => (typeof id === 'string' ? { id } : null)

/** RFC 3339 text with milliseconds for a time in UTC as JSON of PostgreSQL has it, such as `2026-11-23T14:44:45.12`. */
const timeOf = (utc: string) => `${utc.padEnd(20, '.').padEnd(23, '0')}Z`

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
  others: TypeFinder,
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
