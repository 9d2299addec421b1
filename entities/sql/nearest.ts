import type { ParameterBinder, SqlPredicate } from './scope.ts'

/** A column that should hold what the caller wishes, and may hold what everybody falls back to. */
type Wish = (sql: ParameterBinder) => { column: string; wished: string; fallback: string }

/** For their usage type, else for the front end. */
export const usage: Wish = (sql) => ({ column: 'usage_type', wished: sql.param('usage'), fallback: `'main'` })

/** In their language, else in the default one. */
export const language: Wish = (sql) => ({
  column: 'locale',
  wished: sql.param('locale'),
  fallback: sql.param('defaultLocale'),
})

/** Of the rows with the same key, the one that comes nearest to the wishes, of which the first weighs most. */
export const nearest =
  (table: string, key: string, wishes: readonly Wish[]): SqlPredicate =>
  (row, sql) => {
    const columns = wishes.map((wish) => wish(sql))
    const fits = (r: string) =>
      columns.map(({ column, wished, fallback }) => `${r}.${column} in (${wished}, ${fallback})`).join(' and ')
    const matches = (r: string) => columns.map(({ column, wished }) => `${r}.${column} = ${wished}`)
    const rank = (r: string) => `(${matches(r).join(', ')})`
    const nearer = sql.exists(table, (r) => `${r}.${key} = ${row}.${key} and ${fits(r)} and ${rank(r)} > ${rank(row)}`)
    // What is as wished needs no look at the others.
    return `(${matches(row).join(' and ')} or ${fits(row)} and not ${nearer})`
  }
