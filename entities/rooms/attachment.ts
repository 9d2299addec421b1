import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, timestamps } from '../sql/columns.ts'
import type { SqlPredicate } from '../sql/scope.ts'
import { ConversationMessage } from './conversation-message.ts'
import { Room } from './room.ts'
import { roomsOfViewer, roomsToAdminister } from './room-member.ts'
import { RoomMessage } from './room-message.ts'

export const fileTypes = ['image', 'document', 'audio', 'video', 'other'] as const
export type FileType = (typeof fileTypes)[number]

/** Whether the text of a file is there: not yet, yes, for some reason not, or there is none to be expected. */
export const textStates = ['pending', 'ready', 'failed', 'none'] as const

/**
 * Why a file gave no text: it needs a password, it is not what it says or broken, it is larger inside than is allowed,
 * reading it took more memory or time than is allowed, nothing tells the encoding of its characters, or it could not be
 * read as often as that was tried.
 */
export const textFailures = [
  'encrypted',
  'damaged',
  'too-large',
  'too-much-memory',
  'too-slow',
  'unknown-encoding',
  'not-read',
] as const
export type TextFailure = (typeof textFailures)[number]

/**
 * What a text is without: the content of pictures, of pages without text, which may be pictures, of files inside the file, of parts
 * that could not be read, of cells beyond those that are read, and characters that the file doesn't name.
 */
export const textGaps = ['pictures', 'pages', 'embedded-files', 'parts', 'cells', 'characters'] as const

/** Something that a file has and its text has not, and how often. */
export interface TextNote {
  gap: (typeof textGaps)[number]
  count: number
}

/** A file that somebody has uploaded, and the message that it belongs to. Its bytes are in the file store. */
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
    /** Nothing until a message is sent with it; the room is that of the message. */
    message: () => p.manyToOne(RoomMessage).deleteRule('cascade').nullable().index().ref(),
    room: () => p.manyToOne(Room).deleteRule('cascade').nullable().index().ref(),
    /** Instead of a message in a room, one in a conversation of the uploader. */
    conversationMessage: () => p.manyToOne(ConversationMessage).deleteRule('cascade').nullable().index().ref(),
    /** As the uploader called it. */
    name: p.string().length(255),
    /** By the bytes, never by the name. */
    mime: p.string().length(127),
    fileType: p.enum(fileTypes),
    bytes: p.integer(),
    /** Whether the bytes are ciphertext of the uploader's browser. */
    clientEncrypted: p.boolean(),
    /** The key of the file, sealed with the application key. */
    sealedKey: p.string(),
    textState: p.enum(textStates).default('none'),
    textFailure: p.enum(textFailures).nullable(),
    /** Whether the file has more text than is kept. */
    textTruncated: p.boolean().default(false),
    textNotes: p.json<TextNote[]>().defaultRaw(`'[]'`),
  },
})

/** Those of the caller, and those in the caller's rooms. */
export const visibleAttachments: SqlPredicate = (attachment, sql) =>
  `(${attachment}.uploader_id = ${sql.param('viewer')} or ${attachment}.room_id = any(${roomsOfViewer(sql)}))`

/** The caller's own, and those in rooms that they administer. */
export const removableAttachments: SqlPredicate = (attachment, sql) =>
  `(${attachment}.uploader_id = ${sql.param('viewer')} or ${attachment}.room_id = any(${roomsToAdminister(sql)}))`

/** To what kind of message it belongs, a private one or one in a room; `group` before it belongs to any. */
export const attachmentCategory = (attachment: string): string =>
  `case when ${attachment}.conversation_message_id is null then 'group' else 'private' end`

/** Names a file in addresses: `group-{uuid}` or `private-{uuid}`, with the extension of its name. */
export const attachmentIdentifier = (attachment: string): string =>
  `concat(${attachmentCategory(attachment)}, '-', ${attachment}.uuid, substring(${attachment}.name from '\\.[A-Za-z0-9]{1,10}$'))`
