import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'

export interface ConversationRow {
  id: string
  slug: string
  name: string
  /** Ciphertext. */
  systemPrompt: string | null
  isPinned: boolean
  /** Of the folder that it lies in. */
  folder: string | null
  messageCount: number
  createdAt: string
  updatedAt: string
}

const columns = `c.id::text as id, c.slug, c.name, c.system_prompt as "systemPrompt",
  c.is_pinned as "isPinned", c.folder, c.message_count as "messageCount",
  ${isoTime('c.created_at')} as "createdAt", ${isoTime('c.updated_at')} as "updatedAt"`

/**
 * Values: the person's id, milliseconds since 1970 and the id behind which to begin, how many at most; then, each or nothing:
 * whether they are pinned, the folder, a part of the name as a pattern, whether they lie in no folder. The newest first.
 */
export const listConversations = statement<ConversationRow>(
  'list-conversations',
  `select ${columns} from conversations c
    where user_id = $1 and discarded_at is null
      and ($5::bool is null or is_pinned = $5) and ($6::text is null or folder = $6) and ($7::text is null or name ilike $7)
      and (folder is null or $8::bool is not true)
      and (updated_at, id) < (timestamptz 'epoch' + $2::float8 * interval '1 millisecond', $3::int)
    order by updated_at desc, id desc limit $4`,
)

/** Values: the slug and the person's id. */
export const findConversation = statement<ConversationRow>(
  'find-conversation',
  `select ${columns} from conversations c where slug = $1 and user_id = $2 and discarded_at is null`,
)

export interface LockedConversation {
  id: number
  messageCount: number
  /** Of its system prompt. */
  promptBytes: number
}

/**
 * Values: the slug and the person's id. Everything that a person writes in their conversations queues at the person, in the
 * order in which everybody locks: first the person.
 */
export const lockConversation = statement<LockedConversation>(
  'lock-conversation',
  `select c.id, c.message_count as "messageCount", octet_length(coalesce(c.system_prompt, '')) as "promptBytes"
    from ${User.tableName} u join conversations c on c.user_id = u.id
    where c.slug = $1 and u.id = $2 and c.discarded_at is null for no key update`,
)

/** Values: the person's id. What their conversations take. */
export const measureConversations = statement<{ count: number; bytes: number }>(
  'measure-conversations',
  `select count(*)::int as count, coalesce(sum(bytes + octet_length(coalesce(system_prompt, ''))), 0)::float8 as bytes
    from conversations where user_id = $1`,
)

/** Values: the person's id, slug, name, system prompt. */
export const insertConversation = statement<{ slug: string }>(
  'insert-conversation',
  'insert into conversations (user_id, slug, name, system_prompt) values ($1, $2, $3, $4) returning slug',
)

export interface ImportedConversation {
  id: number
  slug: string
  /** The number of its last message. */
  lastSeq: number
  /** It is not whole yet, or was thrown away. */
  isDiscarded: boolean
}

const importedColumns = 'id, slug, last_seq as "lastSeq", discarded_at is not null as "isDiscarded"'

/** Values: the person's id, who is locked, and what names it where it was imported from. */
export const findImportedConversation = statement<ImportedConversation>(
  'find-imported-conversation',
  `select ${importedColumns} from conversations where user_id = $1 and import_id = $2`,
)

/** Values: the person's id, slug, name, what names it where it comes from, when it began and was changed last. It is not whole yet. */
export const insertImportedConversation = statement<ImportedConversation>(
  'insert-imported-conversation',
  `insert into conversations (user_id, slug, name, import_id, created_at, updated_at, discarded_at)
    values ($1, $2, $3, $4, least($5::timestamptz, now()), least($6::timestamptz, now()), now()) returning ${importedColumns}`,
)

/** Values: the id, a name or nothing to keep it, whether the system prompt changes, and the system prompt. */
export const updateConversation = statement<never>(
  'update-conversation',
  `update conversations set name = coalesce($2, name), system_prompt = case when $3 then $4 else system_prompt end,
      updated_at = now() where id = $1`,
)

/** Values: the id, whether it is pinned or nothing, whether the folder changes, and the folder. Where it stands does not change. */
export const organizeConversation = statement<never>(
  'organize-conversation',
  `update conversations set is_pinned = coalesce($2, is_pinned), folder = case when $3 then $4 else folder end where id = $1`,
)

/** Values: the person's id. The folders that something lies in, and how many are pinned, with what may still be restored. */
export const countOrganized = statement<{ folders: number; pinned: number }>(
  'count-organized-conversations',
  `select count(distinct folder)::int as folders, count(*) filter (where is_pinned)::int as pinned
    from conversations where user_id = $1`,
)

export interface ConversationFolder {
  name: string
  count: number
}

/** Values: the person's id. */
export const listConversationFolders = statement<ConversationFolder>(
  'list-conversation-folders',
  `select folder as name, count(*)::int as count from conversations
    where user_id = $1 and folder is not null and discarded_at is null group by folder order by lower(folder), folder`,
)

/** Values: the person's id, the name of a folder, and its new one, or nothing to dissolve it. Tells what lies in it. */
export const renameConversationFolder = statement<{ slug: string }>(
  'rename-conversation-folder',
  `update conversations set folder = $3 where user_id = $1 and folder = $2 returning slug`,
)

/** Values: the id. */
export const discardConversation = statement<never>(
  'discard-conversation',
  'update conversations set discarded_at = now() where id = $1',
)

/** Values: the slug and the person's id. */
export const restoreConversation = statement<{ slug: string }>(
  'restore-conversation',
  `update conversations set discarded_at = null where slug = $1 and user_id = $2 and discarded_at is not null returning slug`,
)

/** Values: for how many seconds they can be taken back, and how many at most. Those that cannot any more. */
export const lockDiscarded = statement<{ id: number }>(
  'lock-discarded-conversations',
  `select id from conversations
    where discarded_at < now() - $1 * interval '1 second' order by id limit $2 for update skip locked`,
)

/** Values: ids. */
export const deleteConversations = statement<never>(
  'delete-conversations',
  'delete from conversations where id = any($1::int[])',
)
