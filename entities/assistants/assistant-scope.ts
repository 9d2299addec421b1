import { User } from '../identity/user.ts'
import type { SqlPredicate } from '../sql/scope.ts'
import { Assistant, AssistantEditor } from './assistant.ts'

/**
 * SQL: a person, by the placeholder of their id, may change the assistant: its owner and its editors. The assistants that they edit are
 * read once, so that a list looks nothing up for each assistant.
 */
export const isEditor = (row: string, person: string, x = 'x') =>
  `(${row}.owner_id = ${person} or ${row}.id = any(array(select ${x}.assistant_id from ${AssistantEditor.tableName} ${x} where ${x}.user_id = ${person})))`

/** Assistants that the caller may change. */
export const editableAssistants: SqlPredicate = (row, sql) => isEditor(row, sql.param('viewer'), sql.alias())

/** Assistants of the caller. */
export const ownAssistants: SqlPredicate = (row, sql) => `(${row}.owner_id is not distinct from ${sql.param('viewer')})`

/**
 * Assistants that the caller may change, and published ones that they may use. The groups are those of the person, also for
 * administrators.
 */
export const visibleAssistants: SqlPredicate = (row, sql) =>
  `(${editableAssistants(row, sql)} or (${row}.published is not null and ${isInAudience(row, sql)}))`

/** SQL: the caller is one of those for whom the assistant is. Their groups are read once, not for each assistant. */
const isInAudience: SqlPredicate = (row, sql) => {
  const user = sql.alias()
  const groups = `(select ${user}.groups from ${User.tableName} ${user} where ${user}.id = ${sql.param('viewer')})`
  return `(${row}.audience = 'all' or (${row}.audience = 'groups' and ${row}.groups && ${groups}))`
}

/** Published versions of assistants that the caller may use, and all versions of those that they may change. */
export const visibleVersions: SqlPredicate = (row, sql) => {
  const assistant = sql.alias()
  return `exists (select from ${Assistant.tableName} ${assistant} where ${assistant}.id = ${row}.assistant_id
    and (${editableAssistants(assistant, sql)} or (${row}.number = ${assistant}.published and ${isInAudience(assistant, sql)})))`
}

/** A version that waits for approval, and the one that answers until then, which administrators compare. */
export const reviewedVersions: SqlPredicate = (row, sql) => {
  const assistant = sql.alias()
  return `exists (select from ${Assistant.tableName} ${assistant} where ${assistant}.id = ${row}.assistant_id
    and ${assistant}.proposed is not null and ${row}.number in (${assistant}.proposed, ${assistant}.published))`
}
