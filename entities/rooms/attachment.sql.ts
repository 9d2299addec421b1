import { User } from '../identity/user.ts'
import { compile, type ParameterBinder } from '../sql/scope.ts'
import { statement, unboundedStatement } from '../sql/statement.ts'
import {
  attachmentIdentifier,
  type TextFailure,
  type TextNote,
  type textStates,
  visibleAttachments,
} from './attachment.ts'

/** What is needed to send the bytes of a file. */
export interface FileOfAttachment {
  uuid: string
  name: string
  mime: string
  bytes: number
  sealedKey: string
}

const fileWhere = (where: (sql: ParameterBinder) => string) =>
  compile<FileOfAttachment>(
    { unrestricted: false, plannedOnce: true },
    (sql) => `select a.uuid, a.name, a.mime, a.bytes, a.sealed_key as "sealedKey" from attachments a
      where ${where(sql)} and ${visibleAttachments('a', sql)}`,
  )

/** The file of an attachment that the viewer sees, by its id or by its name in the file store. */
export const fileById = fileWhere((sql) => `a.id = any(${sql.param('ids')})`)
export const fileByUuid = fileWhere((sql) => `a.uuid = ${sql.bindFilter('uuid')('text')}::uuid`)

/** What a file counts at least, in bytes: a disk gives it a block, and the database a row. */
export const MIN_COUNTED_BYTES = 4096

/** Values: the person's id. How many files and bytes they keep, and how many of their files are still to be read. */
export const sumFilesOf = statement<{ bytes: number; files: number; pending: number }>(
  'sum-files-of',
  `select coalesce(sum(greatest(bytes, ${MIN_COUNTED_BYTES})), 0)::float8 as bytes, count(*)::int as files,
    count(*) filter (where text_state = 'pending')::int as pending from attachments where uploader_id = $1`,
)

/** What the prompt of a model needs to know of a file. */
export interface FileForPrompt extends FileOfAttachment {
  id: number
  /** The room of its message, if it belongs to one in a room. */
  room: number | null
  clientEncrypted: boolean
  textState: (typeof textStates)[number]
  textFailure: TextFailure | null
  textNotes: readonly TextNote[]
  /** Of its text as it is stored, which is compressed; null where there is none. */
  textBytes: number | null
}

/** Files of attachments that the viewer sees, by their ids and their names in the file store. */
export const filesForPrompt = compile<FileForPrompt>(
  { unrestricted: false, plannedOnce: true },
  (sql) => `select a.id, a.room_id as room, a.uuid, a.name, a.mime, a.bytes, a.sealed_key as "sealedKey",
      a.client_encrypted as "clientEncrypted", a.text_state as "textState", a.text_failure as "textFailure",
      a.text_notes as "textNotes",
      (select octet_length(t.sealed) from attachment_texts t where t.attachment_id = a.id) as "textBytes"
    from attachments a where ${visibleAttachments('a', sql)}
      and (a.id = any(${sql.param('ids')}) or a.uuid = any(${sql.bindFilter('uuids')('text[]')}::uuid[]))`,
)

/**
 * Values: the message's id, its room's, the uploader's, and the ids of attachments. Of those, only the uploader's own that
 * belong to no message yet are linked, and returned.
 */
export const linkAttachments = statement<{ id: number }>(
  'link-attachments',
  `update attachments set message_id = $1, room_id = $2, updated_at = now()
    where id = any($4::int[]) and uploader_id = $3
      and message_id is null and conversation_message_id is null returning id`,
)

/** The same for a message in a conversation. Values: its id, the uploader's, and the ids of attachments. */
export const linkToConversation = statement<{ id: number }>(
  'link-attachments-to-conversation',
  `update attachments set conversation_message_id = $1, updated_at = now() where id = any($3::int[]) and uploader_id = $2
      and message_id is null and conversation_message_id is null returning id`,
)

/** An attachment that is no more, with the message that it belonged to. */
export interface RemovedAttachment {
  id: number
  uuid: string
  room: number | null
  message: number | null
  /** Instead of a message in a room, one in a conversation of the uploader. */
  privateMessage: number | null
  uploader: number
}

const removeWhere = (name: string, where: string) =>
  statement<RemovedAttachment>(
    name,
    `delete from attachments where ${where} returning id, uuid, room_id as room, message_id as message,
    conversation_message_id as "privateMessage", uploader_id as uploader`,
  )

/** Values: ids of attachments as an array, or the id of a message or of a person. */
export const removeAttachments = removeWhere('remove-attachments', 'id = any($1::int[])')
export const removeAttachmentsOfMessage = removeWhere('remove-attachments-of-message', 'message_id = $1')
export const removeAttachmentsOfUploader = removeWhere('remove-attachments-of-uploader', 'uploader_id = $1')
export const removeAttachmentsOfPrivateMessage = removeWhere(
  'remove-attachments-of-private-message',
  'conversation_message_id = $1',
)

/** Values: the room's id. The names of the files of its messages. */
export const listFilesOfRoom = statement<{ uuid: string }>(
  'list-files-of-room',
  'select uuid from attachments where room_id = $1',
)

/** Values: ids of conversations. The same for their messages. */
export const listFilesOfConversations = statement<{ uuid: string }>(
  'list-files-of-conversations',
  `select a.uuid from attachments a
  join conversation_messages m on m.id = a.conversation_message_id where m.conversation_id = any($1::int[])`,
)

/** Values: ids of messages. Of those that have neither text nor attachments any more, only the place is left. */
export const eraseEmptyMessages = statement<never>(
  'erase-empty-messages',
  `update room_messages m set deleted_at = now(), updated_at = now()
    where id = any($1::int[]) and content is null and deleted_at is null
      and not exists (select from attachments a where a.message_id = m.id)`,
)

/** Values: a moment, and how many at most. Deletes those that were uploaded before it and belong to no message. */
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

/** The files that a person has uploaded. Values: their id, the attachment behind which to begin, and how many at most. */
export const listFilesOf = unboundedStatement<OwnFile>(
  `select id, uuid, name, bytes, sealed_key as "sealedKey", client_encrypted as "clientEncrypted"
     from attachments where uploader_id = $1 and id > $2 order by id limit $3`,
)

/** Values: names of files. Selects those that nothing refers to. */
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

/** Values: the attachment's id. Whoever changes a message waits for its room. */
export const lockRoomOfAttachment = statement<object>(
  'lock-room-of-attachment',
  'select from rooms r join attachments a on a.room_id = r.id where a.id = $1 for no key update of r',
)

/** Values: the attachment's id. Whoever changes their conversations waits for themself. */
export const lockOwnerOfPrivateFile = statement<object>(
  'lock-owner-of-private-file',
  `select from ${User.tableName} u join attachments a on a.uploader_id = u.id
    where a.id = $1 and a.conversation_message_id is not null for no key update of u`,
)

/** What an attachment is called. */
export interface AttachmentName {
  id: string
  uuid: string
  identifier: string
}

/** Attachments that the viewer sees, by their names in the file store. */
export const namesByUuid = compile<AttachmentName>(
  { unrestricted: false, plannedOnce: true },
  (sql) => `select a.id::text as id, a.uuid, ${attachmentIdentifier('a')} as identifier from attachments a
    where a.uuid = any(${sql.bindFilter('uuids')('text[]')}::uuid[]) and ${visibleAttachments('a', sql)}`,
)
