import type { EntityProperty, MetadataStorage } from '@mikro-orm/core'
import { User } from './user.ts'

/** What happens to the rows that refer to a user who is removed. */
export interface EraseRule {
  table: string
  /** The column that refers to the user. */
  column: string
  /** `keep` keeps the row and clears the reference. */
  rows: 'delete' | 'keep'
}

const outcomes: Partial<Record<string, EraseRule['rows']>> = { cascade: 'delete', 'set null': 'keep' }

/** One rule for each column that refers to a user, taken from the entities; rules that keep rows come first. */
export function eraseRules(metadata: MetadataStorage): EraseRule[] {
  const users = metadata.get(User).tableName
  const rules = [...metadata].flatMap(({ tableName: table, relations }) =>
    relations
      .filter(({ targetMeta, owner, pivotTable }) => targetMeta?.tableName === users && owner && !pivotTable)
      .map((property) => toEraseRule(table, property)),
  )
  return rules.toSorted((a, b) => b.rows.localeCompare(a.rows))
}

function toEraseRule(table: string, { fieldNames: [column = ''], deleteRule = '' }: EntityProperty): EraseRule {
  const rows = outcomes[deleteRule]
  if (!rows) throw new Error(`${table}.${column} refers to users, and nobody said what happens where one is removed`)
  return { table, column, rows }
}
