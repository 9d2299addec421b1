import type { RelationMapping } from './mapping.ts'

/** Counts the rows of a statement. */
const countOf = (from: string) => `select count(*)::int as total ${from}`

/** How many rows a statement has, where that is known without counting. Beside a row, which proves that there are some to see. */
export const totalBeside = (from: string, known: string | undefined) => known ?? countOf(from)

/** The same, of its own: who sees no row is told of none. */
export const totalAlone = (from: string, known: string | undefined) =>
  known === undefined ? countOf(from) : `select case when exists (select ${from}) then ${known} else 0 end as total`

/** How the rows of a relation hang together with their parents. */
export function pathOf(link: RelationMapping): { parent: string; join: string } {
  if ('column' in link) throw new Error('a to-one relation is read by its id')
  const parent = 'pivot' in link ? `j.${link.from}` : `t.${link.foreignKey}`
  return { parent, join: 'pivot' in link ? `join ${link.pivot} j on j.${link.to} = t.id` : '' }
}
