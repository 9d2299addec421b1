import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'

export interface ConversationRow {
  id: string
  slug: string
  name: string
  /** Ciphertext. */
  systemPrompt: string | null
  isPinned: boolean
  /** Name of its folder. */
  folder: string | null
  messageCount: number
  createdAt: string
  updatedAt: string
}

const columns = `c.id::text as id, c.slug, c.name, c.system_prompt as "systemPrompt",
  c.is_pinned as "isPinned", c.folder, c.message_count as "messageCount",
  ${isoTime('c.created_at')} as "createdAt", ${isoTime('c.updated_at')} as "updatedAt"`

/**
 * Lists conversations, newest first. Values: the person's id, the time in milliseconds and the id after which to
 * continue, the limit; then, each or null: pinned, folder, pattern of the name, without a folder.
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
  /** Bytes of the system prompt. */
  promptBytes: number
}

/**
 * Locks a conversation with its person. All writes in a person's conversations lock the person first. Values: the slug
 * and the person's id.
 */
export const lockConversation = statement<LockedConversation>(
  'lock-conversation',
  `select c.id, c.message_count as "messageCount", octet_length(coalesce(c.system_prompt, '')) as "promptBytes"
    from ${User.tableName} u join conversations c on c.user_id = u.id
    where c.slug = $1 and u.id = $2 and c.discarded_at is null for no key update`,
)

/** Measures a person's conversations. Values: the person's id. */
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
  /** True if the import is incomplete, or the conversation was discarded. */
  isDiscarded: boolean
}

const importedColumns = 'id, slug, last_seq as "lastSeq", discarded_at is not null as "isDiscarded"'

/** Finds an imported conversation; the person must be locked. Values: the person's id, and the import id. */
export const findImportedConversation = statement<ImportedConversation>(
  'find-imported-conversation',
  `select ${importedColumns} from conversations where user_id = $1 and import_id = $2`,
)

/**
 * Inserts an imported conversation, incomplete at first. Values: the person's id, slug, name, import id, times of
 * creation and of the last change.
 */
export const insertImportedConversation = statement<ImportedConversation>(
  'insert-imported-conversation',
  `insert into conversations (user_id, slug, name, import_id, created_at, updated_at, discarded_at)
    values ($1, $2, $3, $4, least($5::timestamptz, now()), least($6::timestamptz, now()), now()) returning ${importedColumns}`,
)

/**
 * Updates a conversation. Values: the id, a name or null to keep it, whether the system prompt changes, and the system
 * prompt.
 */
export const updateConversation = statement<never>(
  'update-conversation',
  `update conversations set name = coalesce($2, name), system_prompt = case when $3 then $4 else system_prompt end,
      updated_at = now() where id = $1`,
)

/**
 * Pins a conversation or moves it to a folder; its position in the list does not change. Values: the id, pinned or
 * null, whether the folder changes, and the folder.
 */
export const organizeConversation = statement<never>(
  'organize-conversation',
  `update conversations set is_pinned = coalesce($2, is_pinned), folder = case when $3 then $4 else folder end where id = $1`,
)

/** Counts folders and pinned conversations, including restorable ones. Values: the person's id. */
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

/**
 * Renames or dissolves a folder; returns its conversations. Values: the person's id, the folder, and its new name or
 * null.
 */
export const renameConversationFolder = statement<{ slug: string; isDiscarded: boolean }>(
  'rename-conversation-folder',
  `update conversations set folder = $3 where user_id = $1 and folder = $2
    returning slug, discarded_at is not null as "isDiscarded"`,
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

/**
 * Locks conversations that can no longer be restored. Values: the seconds for which they can be, and the batch size.
 */
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
