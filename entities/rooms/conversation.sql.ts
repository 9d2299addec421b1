import { User } from '../identity/user.ts'
import { isoTime, statement } from '../sql/statement.ts'

export interface ConversationRow {
  id: string
  slug: string
  name: string
  /** Ciphertext of the name that replaces it. */
  sealedName: string | null
  /** Ciphertext. */
  systemPrompt: string | null
  /** Ciphertext of the parameters for its answers. */
  sealedOptions: string | null
  isPinned: boolean
  /** Name of its folder. */
  folder: string | null
  isArchived: boolean
  messageCount: number
  createdAt: string
  updatedAt: string
}

const columns = `c.id::text as id, c.slug, c.name, c.sealed_name as "sealedName", c.system_prompt as "systemPrompt", c.sealed_options as "sealedOptions",
  c.is_pinned as "isPinned", c.folder, c.is_archived as "isArchived", c.message_count as "messageCount",
  ${isoTime('c.created_at')} as "createdAt", ${isoTime('c.updated_at')} as "updatedAt"`

/**
 * Lists conversations, newest first. Values: the person's id, the time in milliseconds and the id after which to
 * continue, the limit; then, each or null: pinned, folder, pattern of the name, without a folder, archived.
 */
export const listConversations = statement<ConversationRow>(
  'list-conversations',
  `select ${columns} from conversations c
    where user_id = $1 and discarded_at is null
      and ($5::bool is null or is_pinned = $5) and ($6::text is null or folder = $6) and ($7::text is null or name ilike $7)
      and (folder is null or $8::bool is not true) and ($9::bool is null or is_archived = $9)
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

export interface NamedConversation {
  id: number
  slug: string
}

/** Locks conversations of a person, who must be locked. Values: slugs and the person's id. */
export const lockConversations = statement<NamedConversation>(
  'lock-conversations',
  `select id, slug from conversations
    where slug = any($1::text[]) and user_id = $2 and discarded_at is null order by id for no key update`,
)

/** Measures a person's conversations. Values: the person's id. */
export const measureConversations = statement<{ count: number; bytes: number }>(
  'measure-conversations',
  `select count(*)::int as count, coalesce(sum(bytes + octet_length(coalesce(system_prompt, ''))), 0)::float8 as bytes
    from conversations where user_id = $1`,
)

/** Values: the person's id, slug, name, sealed name, system prompt, sealed options. */
export const insertConversation = statement<{ slug: string }>(
  'insert-conversation',
  `insert into conversations (user_id, slug, name, sealed_name, system_prompt, sealed_options)
    values ($1, $2, $3, $4, $5, $6) returning slug`,
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
  `insert into conversations (user_id, slug, name, sealed_name, import_id, created_at, updated_at, discarded_at)
    values ($1, $2, $3, $4, $5, least($6::timestamptz, now()), least($7::timestamptz, now()), now()) returning ${importedColumns}`,
)

/**
 * Updates a conversation. Values: the id, a name or null to keep it; then, for the sealed name, the system prompt and the
 * sealed options each, whether it changes, and the new one.
 */
export const updateConversation = statement<never>(
  'update-conversation',
  `update conversations set name = coalesce($2, name), sealed_name = case when $3 then $4 else sealed_name end,
      system_prompt = case when $5 then $6 else system_prompt end,
      sealed_options = case when $7 then $8 else sealed_options end, updated_at = now() where id = $1`,
)

/**
 * Pins or archives conversations, or moves them to a folder; their positions in the list do not change. Values: ids,
 * pinned or null, whether the folder changes, the folder, and archived or null.
 */
export const organizeConversations = statement<never>(
  'organize-conversations',
  `update conversations set is_pinned = coalesce($2, is_pinned), folder = case when $3 then $4 else folder end,
      is_archived = coalesce($5, is_archived) where id = any($1::int[])`,
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

/** Lists the folders of conversations that are not archived. Values: the person's id. */
export const listConversationFolders = statement<ConversationFolder>(
  'list-conversation-folders',
  `select folder as name, count(*)::int as count from conversations
    where user_id = $1 and folder is not null and discarded_at is null and not is_archived group by folder order by lower(folder), folder`,
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

/** Values: the person's id. */
export const findChatSettings = statement<{ sealed: string | null }>(
  'find-chat-settings',
  `select sealed_chat_settings as sealed from ${User.tableName} where id = $1`,
)

/** Values: the person's id, and the sealed settings or null. */
export const updateChatSettings = statement<never>(
  'update-chat-settings',
  `update ${User.tableName} set sealed_chat_settings = $2 where id = $1`,
)

/** Values: ids. */
export const discardConversations = statement<never>(
  'discard-conversations',
  'update conversations set discarded_at = now() where id = any($1::int[])',
)

/** Values: slugs and the person's id. */
export const restoreConversations = statement<{ slug: string }>(
  'restore-conversations',
  `update conversations set discarded_at = null
    where slug = any($1::text[]) and user_id = $2 and discarded_at is not null returning slug`,
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
