import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, timestamps } from '../sql/columns.ts'
import { type TextNote, textFailures } from '../sql/extracted-text.ts'
import type { SqlPredicate } from '../sql/scope.ts'
import { ConversationMessage } from './conversation-message.ts'
import { Room } from './room.ts'
import { roomsOfViewer, roomsToAdminister } from './room-member.ts'
import { RoomMessage } from './room-message.ts'

export const fileTypes = ['image', 'document', 'audio', 'video', 'other'] as const
export type FileType = (typeof fileTypes)[number]

/** State of the text: pending, available, failed, or not expected. */
export const textStates = ['pending', 'ready', 'failed', 'none'] as const

/** An uploaded file and its message. The bytes are in the file store. */
export const Attachment = defineEntity({
  name: 'Attachment',
  tableName: 'attachments',
  indexes: [
    {
      name: 'attachments_waiting_index',
      expression: `create index "attachments_waiting_index" on "attachments" ("created_at") where message_id is null and conversation_message_id is null`,
    },
    {
      name: 'attachments_pending_index',
      expression: `create index "attachments_pending_index" on "attachments" ("id") where text_state = 'pending'`,
    },
    { properties: ['createdAt'] },
  ],
  checks: [
    {
      name: 'attachments_one_message_check',
      expression: 'num_nonnulls(message_id, conversation_message_id) <= 1',
    },
  ],
  properties: {
    id,
    ...timestamps,
    /** The name of the file in the file store. */
    uuid: p.uuid().unique(),
    uploader: () => p.manyToOne(User).deleteRule('cascade').index().ref(),
    /** Null until a message is sent with it; the room is that of the message. */
    message: () => p.manyToOne(RoomMessage).deleteRule('cascade').nullable().index().ref(),
    room: () => p.manyToOne(Room).deleteRule('cascade').nullable().index().ref(),
    /** A message in a conversation of the uploader, instead of one in a room. */
    conversationMessage: () => p.manyToOne(ConversationMessage).deleteRule('cascade').nullable().index().ref(),
    /** The uploader's name of the file. */
    name: p.string().length(255),
    /** Detected by the bytes, never by the name. */
    mime: p.string().length(127),
    fileType: p.enum(fileTypes),
    bytes: p.integer(),
    /** True if the bytes are ciphertext of the uploader's browser. */
    clientEncrypted: p.boolean(),
    /** The key of the file, sealed with the application key. */
    sealedKey: p.string(),
    textState: p.enum(textStates).default('none'),
    textFailure: p.enum(textFailures).nullable(),
    /** True if the file has more text than is stored. */
    textTruncated: p.boolean().default(false),
    textNotes: p.json<TextNote[]>().defaultRaw(`'[]'`),
  },
})

/** Attachments of the caller, and those in the caller's rooms. */
export const visibleAttachments: SqlPredicate = (attachment, sql) =>
  `(${attachment}.uploader_id = ${sql.param('viewer')} or ${attachment}.room_id = any(${roomsOfViewer(sql)}))`

/** The caller's own attachments, and those in rooms that they administer. */
export const removableAttachments: SqlPredicate = (attachment, sql) =>
  `(${attachment}.uploader_id = ${sql.param('viewer')} or ${attachment}.room_id = any(${roomsToAdminister(sql)}))`

/** SQL for the category: `private` for messages in conversations, otherwise `group`. */
export const attachmentCategory = (attachment: string): string =>
  `case when ${attachment}.conversation_message_id is null then 'group' else 'private' end`

/** SQL for the identifier in addresses: `group-{uuid}` or `private-{uuid}`, with the extension of its name. */
export const attachmentIdentifier = (attachment: string): string =>
  `concat(${attachmentCategory(attachment)}, '-', ${attachment}.uuid, substring(${attachment}.name from '\\.[A-Za-z0-9]{1,10}$'))`
