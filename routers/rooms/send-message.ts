import type { EntityManager } from '@mikro-orm/postgresql'
import {
  findSentMessage,
  type InsertedMessage,
  insertMessage,
  lockRoomForWriter,
  type Writer,
} from '../../entities/rooms/room-message.sql.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import type { RecordOf } from '../resource/record.ts'
import { createUnknownIssue } from '../verbs/lock-row.ts'
import { toViewer } from '../verbs/viewer.ts'
import { assertAttachmentCount, linkToMessage } from './attachments/message-attachments.ts'
import { assertKeyInUse } from './key-epochs.ts'
import { assertContentFits, createMissingContentProblem } from './message-content.ts'
import { addMessageRecord, shareMessages } from './message-records.ts'
import type { roomMessages } from './room-messages.ts'

/** A message to be sent. */
export interface OutgoingMessage {
  room: string
  thread: string | null
  /** Null if the message has only attachments. */
  content: string | null
  attachments: readonly string[]
  keyEpoch: number
  clientId: string | null
}

/** A stored message; an earlier one has only its id. */
interface SentMessage {
  id: string
  record?: MessageRecord
}

type MessageRecord = RecordOf<typeof roomMessages>

/** Stores a message with the next number. A repeated client id returns the first message. */
export async function sendMessage(ctx: Context, message: OutgoingMessage): Promise<SentMessage> {
  assertContentFits(ctx, { ...message })
  assertAttachmentCount(ctx, message.attachments)
  if (message.content === null && message.attachments.length === 0) throw createMissingContentProblem()
  const room = Number(message.room)
  const send = async (em: EntityManager, changes: ChangeRecorder): Promise<SentMessage> => {
    const writer = await lockForWriter(ctx, em, room)
    const logged = await insertRow(em, writer, message)
    const [created] = logged
    if (!created) return findEarlierMessage(em, writer, message)
    assertKeyInUse(ctx, message.keyEpoch, writer)
    changes.addLogged(logged)
    const { subject: id } = created
    await linkToMessage(ctx, { em, changes, room, message: Number(id), ids: message.attachments })
    const record = toRecord(message, writer, created)
    const hasFiles = message.attachments.length > 0
    if (!hasFiles) addMessageRecord(changes, room, record)
    // Files, and the message that this one replies to, are only known by reading them.
    const ids = logged.slice(hasFiles ? 0 : 1).map(({ subject }) => subject)
    if (ids.length > 0) await shareMessages(ctx, { em, changes, room, ids })
    return { id, record }
  }
  return withChangeLog(ctx, send, `room:${room}`)
}

/** Locks the room for a member who may write; an invisible room is not found. */
export async function lockForWriter(ctx: Context, em: EntityManager, room: number): Promise<Writer> {
  const [writer] = await runStatement(em, lockRoomForWriter, [room, toViewer(ctx).viewer])
  if (!writer) throw new Problem('not_found', { issues: [createUnknownIssue('rooms', ['room'])] })
  if (!['admin', 'editor'].includes(writer.role)) throw new Problem('not_permitted')
  return writer
}

function insertRow(em: EntityManager, { member }: Writer, message: OutgoingMessage): Promise<InsertedMessage[]> {
  const { room, content, keyEpoch, clientId, thread } = message
  const reply = thread === null ? null : Number(thread)
  const values = [Number(room), member, content, keyEpoch, clientId, reply, null, null]
  return runStatement(em, insertMessage, values)
}

/** Returns a new message as it would be read, without a statement: the next message waits for the lock of the room. */
function toRecord(message: OutgoingMessage, writer: Writer, created: InsertedMessage): MessageRecord {
  const { room, thread, content, keyEpoch, clientId } = message
  const { subject: id, rowVersion, number, createdAt } = created
  return {
    id,
    rowVersion,
    number,
    content,
    keyEpoch,
    clientId,
    model: null,
    metadata: null,
    replyCount: 0,
    editedAt: null,
    deletedAt: null,
    createdAt,
    updatedAt: createdAt,
    relations: {
      room: { id: room },
      member: { id: `${writer.member}` },
      thread: thread === null ? null : { id: thread },
    },
  }
}

/** Finds the message with the same client id; throws without one, because then the thread is unknown. */
async function findEarlierMessage(
  em: EntityManager,
  { member }: Writer,
  { clientId }: OutgoingMessage,
): Promise<SentMessage> {
  const [earlier] = clientId === null ? [] : await runStatement(em, findSentMessage, [member, clientId])
  if (earlier) return { id: String(earlier.id) }
  throw new Problem('not_found', { issues: [createUnknownIssue('room-messages', ['thread'])] })
}
