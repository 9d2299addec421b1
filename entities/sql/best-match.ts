import type { ParameterBinder, SqlPredicate } from './scope.ts'

/** A column with its preferred and its fallback value. */
type Preference = (sql: ParameterBinder) => { column: string; wished: string; fallback: string }

/** Prefers the caller's usage type, then that of the front end. */
export const preferUsage: Preference = (sql) => ({
  column: 'usage_type',
  wished: sql.param('usage'),
  fallback: `'main'`,
})

/** Prefers the caller's language, then the default language. */
export const preferLanguage: Preference = (sql) => ({
  column: 'locale',
  wished: sql.param('locale'),
  fallback: sql.param('defaultLocale'),
})

/** Selects the best match among the rows with the same key; earlier preferences have more weight. */
export const bestMatch =
  (table: string, key: string, wishes: readonly Preference[]): SqlPredicate =>
  (row, sql) => {
    const columns = wishes.map((wish) => wish(sql))
    const fits = (r: string) =>
      columns.map(({ column, wished, fallback }) => `${r}.${column} in (${wished}, ${fallback})`).join(' and ')
    const matches = (r: string) => columns.map(({ column, wished }) => `${r}.${column} = ${wished}`)
    const rank = (r: string) => `(${matches(r).join(', ')})`
    const nearer = sql.exists(table, (r) => `${r}.${key} = ${row}.${key} and ${fits(r)} and ${rank(r)} > ${rank(row)}`)
    // A row that matches every preference need not be compared with others.
    return `(${matches(row).join(' and ')} or ${fits(row)} and not ${nearer})`
  }
