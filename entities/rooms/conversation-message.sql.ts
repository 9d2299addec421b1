import { personPicture } from '../identity/user.sql.ts'
import { AI_USER_ID, User } from '../identity/user.ts'
import { isoTime, statement, unboundedStatement } from '../sql/statement.ts'
import { attachmentIdentifier, type FileType } from './attachment.ts'
import type { conversationRoles, MessageMetadata } from './conversation-message.ts'
import { messageNumber } from './room-message.ts'

/** A file of a message, with its identifier in addresses. */
interface FileOfMessage {
  id: string
  uuid: string
  name: string
  fileType: FileType
  mime: string
  bytes: number
  identifier: string
}

export interface ConversationMessageRow {
  id: string
  conversationId: string
  /** `12.000`; a reply to it has `12.001`. */
  number: string
  role: (typeof conversationRoles)[number]
  /** The number, without decimals, of the preceding message; null for the one directly before it. */
  parent: number | null
  /** `avatar` is the identifier of the picture below `/proxy/storage/`. */
  author: { id: string; username: string; displayName: string; avatar: string | null }
  model: string | null
  /** `iv|tag|ciphertext`. */
  content: string | null
  metadata: MessageMetadata | null
  isComplete: boolean
  attachments: FileOfMessage[]
  createdAt: string
  updatedAt: string
}

const files = `coalesce((select json_agg(json_build_object('id', a.id::text, 'uuid', a.uuid, 'name', a.name,
    'fileType', a.file_type, 'mime', a.mime, 'bytes', a.bytes, 'identifier', ${attachmentIdentifier('a')})
    order by a.id) from attachments a where a.conversation_message_id = m.id), '[]')`

const columns = `m.id::text as id, m.conversation_id::text as "conversationId", ${messageNumber('m')} as number, m.role, m.parent_seq as parent,
  json_build_object('id', u.id::text, 'username', u.username, 'displayName', u.name,
    'avatar', ${personPicture('u')}) as author,
  m.model, m.content, m.metadata, m.is_complete as "isComplete", ${files} as attachments,
  ${isoTime('m.created_at')} as "createdAt", ${isoTime('m.updated_at')} as "updatedAt"`

const author = `join conversations c on c.id = m.conversation_id
  join ${User.tableName} u on u.id = case m.role when 'assistant' then ${AI_USER_ID} else c.user_id end`

/**
 * Finds the last messages before a number, in order; `found` is their number without the byte limit. Values: the
 * conversation's id, the number before which to end as two values, the limits of messages and of bytes.
 */
export const findConversationMessages = unboundedStatement<ConversationMessageRow & { found: number }>(
  `with page as (
    select m.*, count(*) over ()::int as found,
           sum(m.bytes) over (order by m.seq desc, m.sub_seq desc) - m.bytes as behind
      from (select * from conversation_messages
             where conversation_id = $1 and (seq, sub_seq) < ($2::int, $3::int)
             order by seq desc, sub_seq desc limit $4) m
  )
  select m.found, ${columns} from page m ${author} where m.behind < $5 order by m.seq, m.sub_seq`,
)

/** Values: the message's id. */
export const findConversationMessage = statement<ConversationMessageRow>(
  'find-conversation-message',
  `select ${columns} from conversation_messages m ${author} where m.id = $1`,
)

/**
 * Inserts a message into a locked conversation; writes nothing if there is no message to reply to. Values: the
 * conversation's id, the number of the message replied to or 0, role, model, content, metadata, completeness, its
 * bytes, the number of the preceding message.
 */
export const insertConversationMessage = statement<{ id: number; number: string }>(
  'insert-conversation-message',
  `with parent as (
    update conversation_messages set last_sub_seq = last_sub_seq + 1
     where conversation_id = $1 and seq = $2 and sub_seq = 0 returning seq, last_sub_seq
  ), counted as (
    update conversations set message_count = message_count + 1, bytes = bytes + $8, updated_at = now(),
           last_seq = last_seq + case when $2 = 0 then 1 else 0 end
     where id = $1 and ($2 = 0 or exists (select from parent)) returning last_seq
  ), written as (
    insert into conversation_messages
        (conversation_id, seq, sub_seq, role, model, content, metadata, is_complete, bytes, parent_seq)
    select $1, coalesce(p.seq, c.last_seq), coalesce(p.last_sub_seq, 0), $3, $4, $5, $6::jsonb, $7, $8, $9
      from counted c left join parent p on true
    returning id, seq, sub_seq
  )
  select id, ${messageNumber('written')} as number from written`,
)

/**
 * Appends imported messages. Values: the conversation's id, numbered messages as JSON, and whether the import is
 * complete.
 */
export const appendImportedMessages = statement<never>(
  'append-imported-messages',
  `with written as (
    insert into conversation_messages
        (conversation_id, seq, role, model, content, is_complete, bytes, parent_seq, created_at, updated_at)
    select $1, seq, role, model, content, "isComplete", bytes, parent, least("createdAt", now()), least("createdAt", now())
      from jsonb_to_recordset($2::jsonb) as m(seq int, role text, model text, content text, "isComplete" bool,
           bytes int, parent int, "createdAt" timestamptz)
    returning bytes
  )
  update conversations set last_seq = last_seq + w.count, message_count = message_count + w.count, bytes = conversations.bytes + w.bytes,
      discarded_at = case when $3 then null else now() end
    from (select count(*)::int as count, coalesce(sum(bytes), 0) as bytes from written) w where id = $1`,
)

export interface MessageToChange {
  id: number
  role: ConversationMessageRow['role']
  model: string | null
  content: string | null
  metadata: MessageMetadata | null
  isComplete: boolean
  /** Ids of its attachments. */
  files: number[]
}

/** Values: the conversation's id and the number as two. */
export const findMessageToChange = statement<MessageToChange>(
  'find-message-to-change',
  `select id, role, model, content, metadata, is_complete as "isComplete",
      array(select a.id from attachments a where a.conversation_message_id = m.id) as files
    from conversation_messages m where conversation_id = $1 and seq = $2 and sub_seq = $3`,
)

/** Values: the message's id, role, model, content, metadata, whether it is complete, its bytes. */
export const updateConversationMessage = statement<never>(
  'update-conversation-message',
  `with before as (select bytes from conversation_messages where id = $1), changed as (
    update conversation_messages set role = $2, model = $3, content = $4, metadata = $5::jsonb, is_complete = $6, bytes = $7,
        updated_at = now() where id = $1 returning conversation_id
  )
  update conversations c set bytes = c.bytes + $7 - before.bytes, updated_at = now() from changed, before
    where c.id = changed.conversation_id`,
)

/** Name of a message in the change log. */
export interface MessageName {
  slug: string
  number: string
}

/** Names messages, and tells if they have neither text nor attachments. Values: ids of messages. */
export const nameConversationMessages = statement<MessageName & { isEmpty: boolean }>(
  'name-conversation-messages',
  `select c.slug, ${messageNumber('m')} as number, m.content is null
      and not exists (select from attachments a where a.conversation_message_id = m.id) as "isEmpty"
    from conversation_messages m join conversations c on c.id = m.conversation_id where m.id = any($1::int[]) order by m.id`,
)

const deleteWhere = (where: string) => `with gone as (
    delete from conversation_messages m where ${where} returning conversation_id, bytes
  )
  update conversations c set message_count = message_count - g.count, bytes = c.bytes - g.bytes, updated_at = now()
    from (select conversation_id as id, count(*) as count, sum(bytes) as bytes from gone group by 1) g where c.id = g.id`

/** Values: the message's id. */
export const deleteConversationMessage = statement<never>('delete-conversation-message', deleteWhere('id = $1'))

/** Deletes messages without text and attachments. Values: ids of messages. */
export const deleteEmptyConversationMessages = statement<never>(
  'delete-empty-conversation-messages',
  deleteWhere(`id = any($1::int[]) and content is null
    and not exists (select from attachments a where a.conversation_message_id = m.id)`),
)
