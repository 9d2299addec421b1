/** What happens to the rows that refer to a user who is removed. */
export interface EraseRule {
  /** The column that refers to the user. */
  column: string
  /** `keep` leaves the row without the person. */
  rows: 'delete' | 'keep'
}

/** One rule for each table that refers to a user, in the order in which they are carried out. */
export const eraseRules: Record<string, EraseRule> = {
  usage_records: { column: 'user_id', rows: 'keep' },
  access_tokens: { column: 'user_id', rows: 'delete' },
}
