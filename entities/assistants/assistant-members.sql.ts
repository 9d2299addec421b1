import type { SqlPredicate } from '../sql/scope.ts'
import { statement } from '../sql/statement.ts'
import { isUser } from './assistant.sql.ts'
import { Assistant, AssistantFavorite } from './assistant.ts'
import { editableAssistants, isEditor } from './assistant-scope.ts'
import { type AssistantParameters, AssistantVersion } from './assistant-version.ts'

const assistants = Assistant.tableName
const versions = AssistantVersion.tableName

/** The content of the version that the caller sees of an assistant. */
export interface ShownContent {
  /** True if the caller reads the instructions. */
  mayEdit: boolean
  name: string
  description: string
  model: string
  parameters: AssistantParameters
  allowModelSelect: boolean
  tags: string[]
  /** Sealed. */
  texts: string
}

/** SQL: the content of an assistant, of its newest version for those who may change it, and of the published one for others. */
export const shownContent: SqlPredicate = (row, sql) => {
  const v = sql.alias()
  return `(select json_build_object('mayEdit', ${editableAssistants(row, sql)},
      'name', ${v}.name, 'description', ${v}.description, 'model', ${v}.model, 'parameters', ${v}.parameters,
      'allowModelSelect', ${v}.allow_model_select, 'tags', ${v}.tags, 'texts', ${v}.texts)
    from ${versions} ${v} where ${v}.assistant_id = ${row}.id
      and ${v}.number = case when ${editableAssistants(row, sql)} then ${row}.latest else ${row}.published end)`
}

/** SQL: the stage of an assistant, as front ends of HAWKI name it. */
export const releaseStage: SqlPredicate = (row) =>
  `case when ${row}.published is null then 'draft' when ${row}.audience = 'private' then 'private' else 'organizational' end`

/** SQL: the caller keeps the assistant at hand. */
export const isFavoriteOfViewer: SqlPredicate = (row, sql) =>
  sql.exists(
    AssistantFavorite.tableName,
    (f) => `${f}.assistant_id = ${row}.id and ${f}.user_id = ${sql.param('viewer')}`,
  )

/** SQL: a version is the one that answers. */
export const isPublishedVersion: SqlPredicate = (row, sql) =>
  sql.exists(assistants, (a) => `${a}.id = ${row}.assistant_id and ${a}.published = ${row}.number`)

/** Finds an assistant by its handle. Values: the handle. */
export const findAssistantId = statement<{ id: string }>(
  'find-assistant-id',
  `select id::text as id from ${assistants} where handle = $1`,
)

/** The tags of the assistants that a person sees, by their id and groups. */
const seenTags = `from ${assistants} a
     join ${versions} v on v.assistant_id = a.id
      and v.number = case when ${isEditor('a', '$1::int')} then a.latest else a.published end
    cross join unnest(v.tags) as t(tag)
    where ${isUser('a', { person: '$1::int', groups: '$2::text[]' })}`

interface TagPage {
  tags: string[]
  /** The number of all. */
  total: number
}

/** Lists a page of the tags that a person sees, in one row. Values: the person's id and groups, the limit, and the offset. */
export const listTagPage = statement<TagPage>(
  'list-assistant-tags',
  `with seen as (select distinct t.tag ${seenTags})
    select array(select tag from seen order by tag limit $3::int offset $4::int) as tags, (select count(*)::int from seen) as total`,
)

/** Finds a tag that a person sees. Values: the person's id and groups, and the tag. */
export const findTag = statement<{ tag: string }>(
  'find-assistant-tag',
  `select t.tag ${seenTags} and t.tag = $3::text limit 1`,
)
