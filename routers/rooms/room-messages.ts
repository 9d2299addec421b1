import { z } from 'zod'
import {
  deletableMessages,
  editableMessages,
  messageNumber,
  messagesOfViewer,
  RoomMessage,
  repliesTo,
  replyCount,
  visibleMessages,
} from '../../entities/rooms/room-message.ts'
import { findReadMarks, type ReadMark } from '../../entities/rooms/room-read-mark.ts'
import {
  attribute,
  defineResource,
  type FindValues,
  type FoundRow,
  many,
  one,
  sortedTimestamps,
  time,
} from '../resource/declare.ts'
import { content, keyEpoch } from './message-content.ts'

const number = z
  .string()
  .describe(
    'The number of the message, such as `12.000`; a reply to it has `12.001`. Numbers have no gaps in a room and sort numerically.',
  )
const clientId = z
  .string()
  .regex(/^[\x21-\x7e]{1,64}$/, { error: 'must be 1 to 64 visible characters' })
  .nullable()
  .describe('A client-generated id. Sending it again returns the first message.')

export const roomMessages = defineResource({
  type: 'room-messages',
  about: "The messages in the caller's rooms, as the browsers of the members encrypted them.",
  entity: RoomMessage,
  scope: visibleMessages,
  mayUpdate: editableMessages,
  mayDelete: deletableMessages,
  total: messagesOfViewer,
  streams: { room: 'room' },
  attributes: {
    number: attribute(number, { sql: messageNumber, sort: ['seq', 'subSeq'] }),
    content: attribute(
      z
        .string()
        .nullable()
        .describe('`iv|tag|ciphertext` in base64. It is null if the message has only attachments, or was deleted.'),
      {
        write: true,
        default: null,
        input: content.nullable(),
      },
    ),
    keyEpoch: attribute(keyEpoch, { write: true, default: 0 }),
    clientId: attribute(clientId, { write: 'create', default: null }),
    model: attribute(z.string().nullable().describe('The model that wrote the message. It is null if a person did.')),
    metadata: attribute(
      z
        .record(z.string(), z.json())
        .nullable()
        .describe(
          "The `tools` and `params` of a model's answer, and its `assistant`, if one was asked. They are not encrypted.",
        ),
    ),
    replyCount: attribute(z.int().describe('The number of replies to the message.'), { sql: replyCount }),
    readBy: attribute(
      z
        .array(z.int())
        .describe(
          'The ids of the members who have read or written the message since they joined: at most 200, the caller first. It is present only on request.',
        ),
      { onDemand: findReaders },
    ),
    editedAt: attribute(
      time.nullable().describe('The time of the last change of the content. It is null if the content never changed.'),
    ),
    deletedAt: attribute(time.nullable().describe('The time of the deletion. A deleted message keeps its number.')),
    ...sortedTimestamps,
  },
  relations: {
    room: one('rooms', { write: 'create', about: 'The room of the message.', alwaysVisible: true }),
    member: one('room-members', { alwaysVisible: true }),
    thread: one('room-messages', {
      write: 'create',
      default: null,
      about: 'The message that this one replies to.',
      alwaysVisible: true,
    }),
    replies: many('room-messages', { total: repliesTo }),
    attachments: many('attachments', {
      write: 'create',
      default: [],
      about: 'The files of the message, which the caller has uploaded for it.',
    }),
  },
  includes: ['room', 'member', 'member.user', 'thread', 'attachments'],
  page: { size: 50, max: 200 },
})

/** The largest number of listed readers, for a page of messages. */
const MAX_READERS = 200

/**
 * Finds the ids of the members who have read or written each message, the caller first, with one statement for all
 * messages.
 */
async function findReaders(messages: readonly FoundRow[], { sql, viewer }: Parameters<FindValues>[1]) {
  const found = await sql(findReadMarks, [[...new Set(messages.map(readRoomId))], viewer])
  const byRoom = new Map(found.map(({ room, marks }) => [room, marks]))
  return messages.map((message) => pickReaders(message, byRoom.get(readRoomId(message)) ?? []))
}

const readRoomId = ({ relations }: FoundRow) => Number(relations['room']?.id)

function pickReaders({ id, relations }: FoundRow, marks: readonly ReadMark[]): number[] {
  const author = Number(relations['member']?.id)
  const hasRead = (after: number, upTo: number) => after < Number(id) && Number(id) <= upTo
  const read = marks.filter(([member, , after, upTo]) => member === author || hasRead(after, upTo))
  return read.slice(0, MAX_READERS).map(([, person]) => person)
}
