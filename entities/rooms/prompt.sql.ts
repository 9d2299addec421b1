import { isoTime, statement } from '../sql/statement.ts'
import { OwnPrompt, SharedPrompt } from './prompt.ts'

const own = OwnPrompt.tableName
const shared = SharedPrompt.tableName

export interface OwnPromptRow {
  id: string
  sealed: string
  updatedAt: string
}

const ownColumns = `id::text as id, sealed, ${isoTime('updated_at')} as "updatedAt"`

/** Lists the prompts of a person, the oldest first. Values: the person. */
export const listOwnPrompts = statement<OwnPromptRow>(
  'list-own-prompts',
  `select ${ownColumns} from ${own} where user_id = $1 order by id`,
)

/** Counts the prompts of a person, who is locked. Values: the person. */
export const countOwnPrompts = statement<{ count: number }>(
  'count-own-prompts',
  `select count(*)::int as count from ${own} where user_id = $1`,
)

/** Adds prompts of a person. Values: the person and the ciphertexts. */
export const insertOwnPrompts = statement<OwnPromptRow>(
  'insert-own-prompts',
  `insert into ${own} (created_at, updated_at, user_id, sealed)
   select now(), now(), $1, p.sealed from unnest($2::text[]) with ordinality as p(sealed, n) order by p.n returning ${ownColumns}`,
)

/** Changes a prompt of a person. Values: the person, its id and the ciphertext. */
export const updateOwnPrompt = statement<OwnPromptRow>(
  'update-own-prompt',
  `update ${own} set sealed = $3, updated_at = now() where user_id = $1 and id = $2::int returning ${ownColumns}`,
)

/** Deletes a prompt of a person. Values: the person and its id. */
export const deleteOwnPrompt = statement<{ id: string }>(
  'delete-own-prompt',
  `delete from ${own} where user_id = $1 and id = $2::int returning id::text as id`,
)

export interface SharedPromptRow {
  id: string
  name: string
  text: string
  /** Empty for everybody. */
  groups: string[]
  /** Null for all languages. */
  locale: string | null
  updatedAt: string
}

const sharedColumns = `id::text as id, name, text, to_json(groups) as groups, locale, ${isoTime('updated_at')} as "updatedAt"`

/** The most prompts that administrators may write. */
export const MAX_SHARED = 1000

/**
 * Lists what administrators have written for a person: in the person's language first, then in none. Values: the groups of the
 * person, and the language.
 */
export const listOfferedPrompts = statement<SharedPromptRow>(
  'list-offered-prompts',
  `select ${sharedColumns} from ${shared}
    where (groups = '{}' or groups && $1::text[]) and (locale is null or locale = $2)
    order by locale is null, lower(name), id limit ${MAX_SHARED}`,
)

/** Lists all prompts of administrators, by their names. */
export const listSharedPrompts = statement<SharedPromptRow>(
  'list-shared-prompts',
  `select ${sharedColumns} from ${shared} order by lower(name), id limit ${MAX_SHARED}`,
)

/** Adds a prompt, unless there are too many. Values: its name, text, groups and language. */
export const insertSharedPrompt = statement<SharedPromptRow>(
  'insert-shared-prompt',
  `insert into ${shared} (created_at, updated_at, name, text, groups, locale)
   select now(), now(), $1, $2, $3::text[], $4 where (select count(*) from ${shared}) < ${MAX_SHARED} returning ${sharedColumns}`,
)

/** Changes the given members. Values: its id, name, text, groups, whether the language changes, and the language. */
export const updateSharedPrompt = statement<SharedPromptRow>(
  'update-shared-prompt',
  `update ${shared} set name = coalesce($2, name), text = coalesce($3, text), groups = coalesce($4::text[], groups),
          locale = case when $5::boolean then $6 else locale end, updated_at = now()
    where id = $1::int returning ${sharedColumns}`,
)

/** Deletes a prompt. Values: its id. */
export const deleteSharedPrompt = statement<{ id: string; name: string }>(
  'delete-shared-prompt',
  `delete from ${shared} where id = $1::int returning id::text as id, name`,
)
