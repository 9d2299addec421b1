import type { Condition } from './scope.ts'
import { AI_USER_ID } from './user.ts'

/** Active, of an active provider, and allowed to the caller's usage type. */
export const visibleModels: Condition = (m, place) =>
  `(${place('admin')} or ${m}.active
    and exists (select from ai_providers sp where sp.id = ${m}.provider_id and sp.active)
    and exists (select from ai_model_usage_rules su where su.model_id = ${m}.id and su.usage_type = ${place('usage')}))`

/** Active; programs see only those that have something for them. */
export const visibleProviders: Condition = (p, place) =>
  `(${place('admin')} or ${p}.active and (${place('usage')} = 'main' or exists (
      select from ai_models sm join ai_model_usage_rules su on su.model_id = sm.id
       where sm.provider_id = ${p}.id and sm.active and su.usage_type = ${place('usage')})))`

export const visibleTools: Condition = (t, place) => `(${place('admin')} or ${t}.active)`

/** Of a visible model, in the caller's language or, where it lacks that one, in the default language. */
export const visibleDescriptions: Condition = (d, place) =>
  `(${place('admin')} or (
      exists (select from ai_models sd where sd.id = ${d}.model_id and ${visibleModels('sd', place)})
      and ${inLocale('ai_model_descriptions', ['model_id'])(d, place)}))`

export const visibleSystemModels: Condition = (s, place) =>
  `(${place('admin')} or ${overlaid('system_models', ['model_type'])(s, place)})`

export const visiblePrompts: Condition = (s, place) =>
  `(${place('admin')} or (${overlaid('system_prompts', ['prompt_type', 'locale'])(s, place)}
      and ${inLocale('system_prompts', ['prompt_type', 'usage_type'])(s, place)}))`

/** Oneself and the AI user. */
export const knownUsers: Condition = (u, place) =>
  `(${place('admin')} or ${u}.id in (${place('viewer')}, ${AI_USER_ID}))`

/** Rows of the caller's own; not even an administrator sees those of others. */
export const ownRows: Condition = (row, place) => `${row}.user_id = ${place('viewer')}`

/** A usage type's own rows, and those of the front end for which it has none of the same key. */
const overlaid =
  (table: string, key: readonly string[]): Condition =>
  (row, place) =>
    `(${row}.usage_type = ${place('usage')} or (${row}.usage_type = 'main' and not exists (
        select from ${table} so where so.usage_type = ${place('usage')} and ${same('so', row, key)})))`

/** Rows in the caller's language, and those in the default language for which there is none of the same key. */
const inLocale =
  (table: string, key: readonly string[]): Condition =>
  (row, place) =>
    `(${row}.locale = ${place('locale')} or (${row}.locale = ${place('defaultLocale')} and not exists (
        select from ${table} sl where sl.locale = ${place('locale')} and ${same('sl', row, key)})))`

const same = (a: string, b: string, columns: readonly string[]) =>
  columns.map((column) => `${a}.${column} = ${b}.${column}`).join(' and ')
