import type { EntityManager } from '@mikro-orm/postgresql'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import {
  findSentMessage,
  insertMessage,
  lockRoomForWriter,
  type Writer,
} from '../../entities/rooms/room-message.sql.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { createUnknownIssue } from '../verbs/lock-row.ts'
import { toViewer } from '../verbs/viewer.ts'
import { assertFewAttachments, linkToMessage } from './attachments/message-attachments.ts'
import { assertKeyInUse } from './key-epochs.ts'
import { assertContentFits, noContent } from './message-content.ts'

/** What a message is sent with. */
export interface Sending {
  room: string
  thread: string | null
  /** Nothing where it has attachments alone. */
  content: string | null
  attachments: readonly string[]
  keyEpoch: number
  clientId: string | null
}

/** Gives a message its number and keeps it; returns its id. One that was sent before with the same client id stays as it is. */
export async function sendMessage(ctx: Context, sending: Sending): Promise<number> {
  assertContentFits(ctx, { ...sending })
  assertFewAttachments(ctx, sending.attachments)
  if (sending.content === null && sending.attachments.length === 0) throw noContent()
  const send = async (em: EntityManager, changes: ChangeRecorder) => {
    const writer = await lockForWriter(ctx, em, Number(sending.room))
    const logged = await insert(em, writer, sending)
    const [created] = logged
    if (!created) return findSent(em, writer, sending)
    assertKeyInUse(ctx, sending.keyEpoch, writer)
    changes.addLogged(logged)
    const [room, message] = [Number(sending.room), Number(created.subject)]
    await linkToMessage(ctx, { em, changes, room, message, ids: sending.attachments })
    return message
  }
  return withChangeLog(ctx, send, `room:${Number(sending.room)}`)
}

/** Locks the room for a member who may write; a room that they do not see is not there. */
export async function lockForWriter(ctx: Context, em: EntityManager, room: number): Promise<Writer> {
  const [writer] = await runStatement(em, lockRoomForWriter, [room, toViewer(ctx).viewer])
  if (!writer) throw new Problem('not_found', { issues: [createUnknownIssue('rooms', ['room'])] })
  if (!['admin', 'editor'].includes(writer.role)) throw new Problem('not_permitted')
  return writer
}

function insert(em: EntityManager, { member }: Writer, sending: Sending): Promise<LoggedChange[]> {
  const { room, content, keyEpoch, clientId, thread } = sending
  const reply = thread === null ? null : Number(thread)
  const values = [Number(room), member, content, keyEpoch, clientId, reply, null, null]
  return runStatement(em, insertMessage, values)
}

/** The message that was sent before with the same client id; without one, there was nothing to reply to. */
async function findSent(em: EntityManager, { member }: Writer, { clientId }: Sending): Promise<number> {
  const [known] = clientId === null ? [] : await runStatement(em, findSentMessage, [member, clientId])
  if (known) return known.id
  throw new Problem('not_found', { issues: [createUnknownIssue('room-messages', ['thread'])] })
}
