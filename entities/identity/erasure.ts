/** What happens to the rows that refer to a user who is removed. */
export interface EraseRule {
  table: string
  /** The column that refers to the user. */
  column: string
  /** `keep` leaves the row without the person. */
  rows: 'delete' | 'keep'
}

/** One rule for each column that refers to a user, in the order in which they are carried out. */
export const eraseRules: readonly EraseRule[] = [
  { table: 'usage_records', column: 'user_id', rows: 'keep' },
  { table: 'sessions', column: 'user_id', rows: 'delete' },
  { table: 'access_tokens', column: 'user_id', rows: 'delete' },
  { table: 'user_keychain_values', column: 'user_id', rows: 'delete' },
  { table: 'passkey_backups', column: 'user_id', rows: 'delete' },
  { table: 'frontend_migration_userdata', column: 'user_id', rows: 'delete' },
  { table: 'applied_frontend_migrations', column: 'user_id', rows: 'delete' },
]
