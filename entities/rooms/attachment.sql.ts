import { User } from '../identity/user.ts'
import type { TextFailure, TextNote } from '../sql/extracted-text.ts'
import { compile, type ParameterBinder } from '../sql/scope.ts'
import { statement, unboundedStatement } from '../sql/statement.ts'
import { attachmentIdentifier, type textStates, visibleAttachments } from './attachment.ts'

/** Data for sending the bytes of a file. */
export interface FileOfAttachment {
  uuid: string
  name: string
  mime: string
  bytes: number
  sealedKey: string
}

const fileWhere = (where: (sql: ParameterBinder) => string) =>
  compile<FileOfAttachment>(
    { isUnrestricted: false, plannedOnce: true },
    (sql) => `select a.uuid, a.name, a.mime, a.bytes, a.sealed_key as "sealedKey" from attachments a
      where ${where(sql)} and ${visibleAttachments('a', sql)}`,
  )

/** The file of a visible attachment, by its id or by its name in the file store. */
export const fileById = fileWhere((sql) => `a.id = any(${sql.param('ids')})`)
export const fileByUuid = fileWhere((sql) => `a.uuid = ${sql.bindFilter('uuid')('text')}::uuid`)

/** Minimum size that a file counts for quotas: a disk block and a row. */
export const MIN_COUNTED_BYTES = 4096

/** Sums a person's files, their bytes and the pending ones. Values: the person's id. */
export const sumFilesOfUploader = statement<{ bytes: number; files: number; pending: number }>(
  'sum-files-of',
  `select coalesce(sum(greatest(bytes, ${MIN_COUNTED_BYTES})), 0)::float8 as bytes, count(*)::int as files,
    count(*) filter (where text_state = 'pending')::int as pending from attachments where uploader_id = $1`,
)

/** Data of a file for a prompt. */
export interface FileForPrompt extends FileOfAttachment {
  id: number
  /** The room of its message, if there is one. */
  room: number | null
  clientEncrypted: boolean
  textState: (typeof textStates)[number]
  textFailure: TextFailure | null
  textNotes: readonly TextNote[]
  /** Size of the stored, compressed text; null if there is none. */
  textBytes: number | null
}

/** Files of visible attachments, by ids and by names in the file store. */
export const filesForPrompt = compile<FileForPrompt>(
  { isUnrestricted: false, plannedOnce: true },
  (sql) => `select a.id, a.room_id as room, a.uuid, a.name, a.mime, a.bytes, a.sealed_key as "sealedKey",
      a.client_encrypted as "clientEncrypted", a.text_state as "textState", a.text_failure as "textFailure",
      a.text_notes as "textNotes",
      (select octet_length(t.sealed) from attachment_texts t where t.attachment_id = a.id) as "textBytes"
    from attachments a where ${visibleAttachments('a', sql)}
      and (a.id = any(${sql.param('ids')}) or a.uuid = any(${sql.bindFilter('uuids')('text[]')}::uuid[]))`,
)

/**
 * Links the uploader's own unlinked attachments to a message, and returns them. Values: the ids of the message, of its
 * room and of the uploader, and the ids of attachments.
 */
export const linkAttachments = statement<{ id: number }>(
  'link-attachments',
  `update attachments set message_id = $1, room_id = $2, updated_at = now()
    where id = any($4::int[]) and uploader_id = $3
      and message_id is null and conversation_message_id is null returning id`,
)

/** Links attachments to a message in a conversation. Values: its id, the uploader's, and the ids of attachments. */
export const linkToConversation = statement<{ id: number }>(
  'link-attachments-to-conversation',
  `update attachments set conversation_message_id = $1, updated_at = now() where id = any($3::int[]) and uploader_id = $2
      and message_id is null and conversation_message_id is null returning id`,
)

/** A deleted attachment with its message. */
export interface RemovedAttachment {
  id: number
  uuid: string
  room: number | null
  message: number | null
  /** A message in a conversation of the uploader, instead of one in a room. */
  privateMessage: number | null
  uploader: number
}

const removeWhere = (name: string, where: string) =>
  statement<RemovedAttachment>(
    name,
    `delete from attachments where ${where} returning id, uuid, room_id as room, message_id as message,
    conversation_message_id as "privateMessage", uploader_id as uploader`,
  )

/** Values: an array of attachment ids, or the id of a message or of a person. */
export const removeAttachments = removeWhere('remove-attachments', 'id = any($1::int[])')
export const removeAttachmentsOfMessage = removeWhere('remove-attachments-of-message', 'message_id = $1')
export const removeAttachmentsOfUploader = removeWhere('remove-attachments-of-uploader', 'uploader_id = $1')
export const removeAttachmentsOfPrivateMessage = removeWhere(
  'remove-attachments-of-private-message',
  'conversation_message_id = $1',
)

/** Lists the files of a room's messages. Values: the room's id. */
export const listFilesOfRoom = statement<{ uuid: string }>(
  'list-files-of-room',
  'select uuid from attachments where room_id = $1',
)

/** Lists the files of messages in conversations. Values: ids of conversations. */
export const listFilesOfConversations = statement<{ uuid: string }>(
  'list-files-of-conversations',
  `select a.uuid from attachments a
  join conversation_messages m on m.id = a.conversation_message_id where m.conversation_id = any($1::int[])`,
)

/** Marks messages without text and attachments as deleted, and deletes their reactions. Values: ids of messages. */
export const eraseEmptyMessages = statement<never>(
  'erase-empty-messages',
  `with erased as (
    update room_messages m set deleted_at = now(), updated_at = now()
     where id = any($1::int[]) and content is null and deleted_at is null
       and not exists (select from attachments a where a.message_id = m.id) returning id
  )
  delete from room_reactions r using erased where r.message_id = erased.id`,
)

/** Deletes unlinked attachments that were uploaded before a time. Values: the time, and the batch size. */
export const deleteUnlinked = statement<{ uuid: string }>(
  'delete-unlinked-attachments',
  `delete from attachments where id in (
     select id from attachments where message_id is null and conversation_message_id is null and created_at < $1 order by created_at limit $2
        for update skip locked
   ) returning uuid`,
)

interface OwnFile {
  id: number
  uuid: string
  name: string
  bytes: number
  sealedKey: string
  clientEncrypted: boolean
}

/** Lists a person's files. Values: their id, the attachment after which to continue, and the batch size. */
export const listFilesOfUploader = unboundedStatement<OwnFile>(
  `select id, uuid, name, bytes, sealed_key as "sealedKey", client_encrypted as "clientEncrypted"
     from attachments where uploader_id = $1 and id > $2 order by id limit $3`,
)

/** Selects files without an attachment. Values: names of files. */
export const findOrphans = statement<{ name: string }>(
  'find-orphaned-files',
  `select file.name::text from unnest($1::uuid[]) file (name)
    where not exists (select from attachments a where a.uuid = file.name)`,
)

/** Values: the attachment's id. */
export const findRoomOfAttachment = statement<{ room: number | null }>(
  'find-room-of-attachment',
  'select room_id as room from attachments where id = $1',
)

/** Locks the room, because changes of messages wait for it. Values: the attachment's id. */
export const lockRoomOfAttachment = statement<object>(
  'lock-room-of-attachment',
  'select from rooms r join attachments a on a.room_id = r.id where a.id = $1 for no key update of r',
)

/** Locks the owner, because changes of their conversations wait for it. Values: the attachment's id. */
export const lockOwnerOfPrivateFile = statement<object>(
  'lock-owner-of-private-file',
  `select from ${User.tableName} u join attachments a on a.uploader_id = u.id
    where a.id = $1 and a.conversation_message_id is not null for no key update of u`,
)

/** Ids and names of an attachment. */
export interface AttachmentName {
  id: string
  uuid: string
  identifier: string
}

/** Names of visible attachments, by their names in the file store. */
export const namesByUuid = compile<AttachmentName>(
  { isUnrestricted: false, plannedOnce: true },
  (sql) => `select a.id::text as id, a.uuid, ${attachmentIdentifier('a')} as identifier from attachments a
    where a.uuid = any(${sql.bindFilter('uuids')('text[]')}::uuid[]) and ${visibleAttachments('a', sql)}`,
)
