import { AI_USER_ID } from '../identity/user.ts'
import { everyRowForAdmins, type ParameterBinder, type SqlPredicate } from '../sql/scope.ts'

/** Active, of an active provider, and allowed to the caller's usage type. */
export const visibleModels = everyRowForAdmins(
  (model, sql) => `${model}.active
    and ${sql.exists('ai_providers', (p) => `${p}.id = ${model}.provider_id and ${p}.active`)}
    and ${allowedToUsage(model, sql)}`,
)

const allowedToUsage: SqlPredicate = (model, sql) =>
  sql.exists('ai_model_usage_rules', (u) => `${u}.model_id = ${model}.id and ${u}.usage_type = ${sql.param('usage')}`)

/** Active; programs see only those that have something for them. */
export const visibleProviders = everyRowForAdmins((provider, sql) => {
  const offered = sql.exists(
    'ai_models',
    (m) => `${m}.provider_id = ${provider}.id and ${m}.active and ${allowedToUsage(m, sql)}`,
  )
  return `${provider}.active and (${sql.param('usage')} = 'main' or ${offered})`
})

export const visibleTools = everyRowForAdmins((tool) => `${tool}.active`)

/** Of a visible model, in the caller's language or, where it lacks that one, in the default language. */
export const visibleDescriptions = everyRowForAdmins(
  (
    description,
    sql,
  ) => `${sql.exists('ai_models', (m) => `${m}.id = ${description}.model_id and ${visibleModels(m, sql)}`)}
      and ${nearest('ai_model_descriptions', 'model_id', [language])(description, sql)}`,
)

/** Of each task the caller's own assignment or, where there is none, that of the front end. */
export const visibleSystemModels = everyRowForAdmins((assignment, sql) =>
  nearest('system_models', 'model_type', [usage])(assignment, sql),
)

/** Of each task the one prompt that is meant for the caller: for their usage type first, then in their language. */
export const visiblePrompts = everyRowForAdmins((prompt, sql) =>
  nearest('system_prompts', 'prompt_type', [usage, language])(prompt, sql),
)

/** Oneself and the AI user. */
export const knownUsers = everyRowForAdmins((user, sql) => `${user}.id in (${sql.param('viewer')}, ${AI_USER_ID})`)

/** Rows of the caller's own; not even an administrator sees those of others. */
export const ownRows: SqlPredicate = (row, sql) => `${row}.user_id = ${sql.param('viewer')}`

/** A column that should hold what the caller wishes, and may hold what everybody falls back to. */
type Wish = (sql: ParameterBinder) => { column: string; wished: string; fallback: string }

const usage: Wish = (sql) => ({ column: 'usage_type', wished: sql.param('usage'), fallback: `'main'` })
const language: Wish = (sql) => ({
  column: 'locale',
  wished: sql.param('locale'),
  fallback: sql.param('defaultLocale'),
})

/** Of the rows with the same key, the one that comes nearest to the wishes, of which the first weighs most. */
const nearest =
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
