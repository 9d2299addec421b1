import { AI_USER_ID } from '../identity/user.ts'
import { type Condition, everyRowForAdmins, type Place } from '../sql/scope.ts'

/** Active, of an active provider, and allowed to the caller's usage type. */
export const visibleModels = everyRowForAdmins(
  (m, place) => `${m}.active
    and exists (select from ai_providers sp where sp.id = ${m}.provider_id and sp.active)
    and exists (select from ai_model_usage_rules su where su.model_id = ${m}.id and su.usage_type = ${place('usage')})`,
)

/** Active; programs see only those that have something for them. */
export const visibleProviders = everyRowForAdmins(
  (p, place) => `${p}.active and (${place('usage')} = 'main' or exists (
      select from ai_models sm join ai_model_usage_rules su on su.model_id = sm.id
       where sm.provider_id = ${p}.id and sm.active and su.usage_type = ${place('usage')}))`,
)

export const visibleTools = everyRowForAdmins((t) => `${t}.active`)

/** Of a visible model, in the caller's language or, where it lacks that one, in the default language. */
export const visibleDescriptions = everyRowForAdmins(
  (d, place) => `exists (select from ai_models sd where sd.id = ${d}.model_id and ${visibleModels('sd', place)})
      and ${nearest('ai_model_descriptions', 'model_id', [language])(d, place)}`,
)

/** Of each task the caller's own assignment or, where there is none, that of the front end. */
export const visibleSystemModels = everyRowForAdmins((s, place) =>
  nearest('system_models', 'model_type', [usage])(s, place),
)

/** Of each task the one prompt that is meant for the caller: for their usage type first, then in their language. */
export const visiblePrompts = everyRowForAdmins((s, place) =>
  nearest('system_prompts', 'prompt_type', [usage, language])(s, place),
)

/** Oneself and the AI user. */
export const knownUsers = everyRowForAdmins((u, place) => `${u}.id in (${place('viewer')}, ${AI_USER_ID})`)

/** Rows of the caller's own; not even an administrator sees those of others. */
export const ownRows: Condition = (row, place) => `${row}.user_id = ${place('viewer')}`

/** A column that should hold what the caller wishes, and may hold what everybody falls back to. */
type Wish = (place: Place) => { column: string; wished: string; fallback: string }

const usage: Wish = (place) => ({ column: 'usage_type', wished: place('usage'), fallback: `'main'` })
const language: Wish = (place) => ({ column: 'locale', wished: place('locale'), fallback: place('defaultLocale') })

/** Of the rows with the same key, the one that comes nearest to the wishes, of which the first weighs most. */
const nearest =
  (table: string, key: string, wishes: readonly Wish[]): Condition =>
  (row, place) => {
    const columns = wishes.map((wish) => wish(place))
    const fits = (r: string) =>
      columns.map(({ column, wished, fallback }) => `${r}.${column} in (${wished}, ${fallback})`).join(' and ')
    const matches = (r: string) => columns.map(({ column, wished }) => `${r}.${column} = ${wished}`)
    const rank = (r: string) => `(${matches(r).join(', ')})`
    // What is as wished needs no look at the others.
    return `(${matches(row).join(' and ')} or ${fits(row)} and not exists (
        select from ${table} sn where sn.${key} = ${row}.${key} and ${fits('sn')} and ${rank('sn')} > ${rank(row)}))`
  }
