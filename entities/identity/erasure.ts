import type { EntityProperty, MetadataStorage } from '@mikro-orm/core'
import { User } from './user.ts'

/** A rule for rows that refer to an erased user. */
export interface EraseRule {
  table: string
  /** The column that refers to the user. */
  column: string
  /** `keep` keeps the row, and sets the reference to null. */
  rows: 'delete' | 'keep'
}

const outcomes: Partial<Record<string, EraseRule['rows']>> = { cascade: 'delete', 'set null': 'keep' }

/** Returns a rule for each column that refers to a user, read from the entities; rules that keep rows come first. */
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
  if (!rows) throw new Error(`${table}.${column} refers to users, and erasure has no rule for it`)
  return { table, column, rows }
}
