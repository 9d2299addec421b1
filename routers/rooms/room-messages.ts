import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { findMessageByNumber } from '../../entities/rooms/room.sql.ts'
import { eraseMessage, findRoomOfMessage, lockRoomOfMessage } from '../../entities/rooms/room-message.sql.ts'
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
import type { ChangeRecorder, Stream } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
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
import { exposeAs } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf } from '../resource/record.ts'
import { dropUnchanged } from '../verbs/drop-unchanged.ts'
import { lockRow, type Version } from '../verbs/lock-row.ts'
import { defineReads, getNamedRow, getRow } from '../verbs/read.ts'
import { updateRow } from '../verbs/write.ts'
import { buildCreateInput, buildUpdateInput, ifVersion } from '../verbs/write-inputs.ts'
import { deleteAttachmentsOfMessage } from './attachments/message-attachments.ts'
import { assertKeyOfEditedMessageInUse } from './key-epochs.ts'
import { assertContentFits, content, createMissingContentProblem, keyEpoch } from './message-content.ts'
import { shareMessages } from './message-records.ts'
import { type OutgoingMessage, sendMessage } from './send-message.ts'

const number = z
  .string()
  .describe(
    'The number of the message, such as `12.000`; a reply to it has `12.001`. Numbers have no gaps in a room and sort numerically.',
  )
const numberInput = z.string().regex(/^\d{1,9}\.\d{3,9}$/, { error: 'must be the number of a message, such as 12.000' })
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
        .describe("The `tools` and `params` of a model's answer. They are not encrypted."),
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

export const roomMessagesRouter = router({
  ...defineReads(roomMessages),

  find: userWith('read')
    .meta(about('Read a message by its number in a room.'))
    .input(z.strictObject({ room: resourceId, number: numberInput }))
    .query(async ({ ctx, input }): Promise<RecordOf<typeof roomMessages>> => {
      const [found] = await ctx.services.sql(findMessageByNumber, [input.room, ...input.number.split('.').map(Number)])
      // Callers who may not see the room do not learn which numbers exist.
      const include = ['member.user', 'attachments']
      return getNamedRow(ctx, roomMessages, found, { unknown: 'There is no such message.', include })
    }),

  create: userWith('write')
    .meta({ ...exposeAs(roomMessages, 'create'), ...withBodySize('long text') })
    .input(buildCreateInput(roomMessages))
    .mutation(async ({ ctx, input }): Promise<RecordOf<typeof roomMessages>> => {
      const { id, record } = await sendMessage(ctx, input as unknown as OutgoingMessage)
      const isWhole = record && !ctx.isRequested(roomMessages.type, 'readBy')
      return isWhole ? (record as unknown as RecordOf<typeof roomMessages>) : getRow(ctx, roomMessages, id)
    }),

  /** Only the author may edit. */
  update: userWith('write')
    .meta({ ...exposeAs(roomMessages, 'update'), ...withBodySize('long text') })
    .use(dropUnchanged(roomMessages))
    .input(buildUpdateInput(roomMessages))
    .mutation(async ({ ctx, input }): Promise<RecordOf<typeof roomMessages>> => {
      assertContentFits(ctx, input)
      if (input['content'] === null) throw createMissingContentProblem()
      return updateRow(ctx, roomMessages, input, {
        stream: await findStream(ctx, input),
        beforeWrite: (em) => lockRoom(em, input),
        async afterFlush({ em, changes, row }) {
          await assertKeyOfEditedMessageInUse(ctx, em, row.id)
          const { room } = row as unknown as { room: { id: number } }
          await shareMessages(ctx, { em, changes, room: room.id, ids: [input.id] })
        },
      })
    }),

  /** The author and the administrators of the room may delete. */
  delete: userWith('write')
    .meta(exposeAs(roomMessages, 'delete'))
    .input(z.strictObject({ id: roomMessages.ids.schema, ifVersion }))
    .mutation(({ ctx, input }) => deleteMessage(ctx, input)),
})

/** Erases the content of a message and keeps its number. Repeating it changes nothing. */
async function deleteMessage(ctx: Context, { id, ifVersion }: Version): Promise<{ id: string }> {
  const erase = async (em: EntityManager, changes: ChangeRecorder) => {
    await lockRoom(em, { id })
    await lockRow(ctx, em, roomMessages, { id, ifVersion, verb: 'delete' })
    const [erased] = await runStatement(em, eraseMessage, [roomMessages.ids.toKey(id)])
    if (!erased) return
    await deleteAttachmentsOfMessage({ em, changes }, roomMessages.ids.toKey(id))
    changes.add([`room:${erased.room}`], 'updated', 'room-messages', id)
    await shareMessages(ctx, { em, changes, room: erased.room, ids: [id], areWithoutFiles: true })
  }
  await withChangeLog(ctx, erase, await findStream(ctx, { id }))
  return { id }
}

/** Finds the stream of the room of a message. */
async function findStream({ services }: Context, { id }: Version): Promise<Stream | undefined> {
  const [found] = await services.sql(findRoomOfMessage, [roomMessages.ids.toKey(id)])
  return found && `room:${found.room}`
}

const lockRoom = (em: EntityManager, { id }: Version) =>
  runStatement(em, lockRoomOfMessage, [roomMessages.ids.toKey(id)])

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
