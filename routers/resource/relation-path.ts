import type { ParameterBinder } from '../../entities/sql/scope.ts'
import type { RelationMapping } from './mapping.ts'

/** Counts the rows of a statement. */
export const countOf = (from: string) => `select count(*)::int as total ${from}`

/** How many rows a relation leads to. */
export const totalOf = ({ total }: RelationMapping, sql: ParameterBinder, from: string) =>
  total ? knownTotal(from, total(sql.param('parent'), sql)) : countOf(from)

/** A total that needs no count. Who sees no row is told of none. */
export const knownTotal = (from: string, total: string) =>
  `select case when exists (select ${from}) then ${total} else 0 end as total`

/** How the rows of a relation hang together with their parents. */
export function pathOf(link: RelationMapping): { parent: string; join: string } {
  if ('column' in link) throw new Error('a to-one relation is read by its id')
  const parent = 'pivot' in link ? `j.${link.from}` : `t.${link.foreignKey}`
  return { parent, join: 'pivot' in link ? `join ${link.pivot} j on j.${link.to} = t.id` : '' }
}
