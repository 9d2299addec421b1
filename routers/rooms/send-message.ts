import type { EntityManager } from '@mikro-orm/postgresql'
import {
  findSentMessage,
  insertMessage,
  lockRoomForWriter,
  type Writer,
} from '../../entities/rooms/room-message.sql.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runNamed } from '../core/run-named.ts'
import { unknown } from '../verbs/lock.ts'
import { viewerOf } from '../verbs/viewer.ts'
import { assertKeyInUse } from './key-epoch.ts'
import { assertContentFits } from './message-content.ts'

/** What a message is sent with. */
export interface Sending {
  room: string
  thread: string | null
  content: string
  keyEpoch: number
  clientId: string | null
}

/** Gives a message its number and keeps it; returns its id. One that was sent before with the same client id stays as it is. */
export async function sendMessage(ctx: Context, sending: Sending): Promise<number> {
  assertContentFits(ctx, { ...sending })
  return changing(ctx, async (em, changes) => {
    const writer = await lockForWriter(ctx, em, Number(sending.room))
    const sent = await insert(em, writer, sending)
    if (!sent.isNew) return sent.id
    assertKeyInUse(ctx, sending.keyEpoch, writer)
    const streams = [`room:${Number(sending.room)}`] as const
    changes.add(streams, 'created', 'room-messages', sent.id)
    // Its count of replies is another.
    if (sent.thread !== null) changes.add(streams, 'updated', 'room-messages', sent.thread)
    return sent.id
  })
}

/** Locks the room for a member who may write; a room that they do not see is not there. */
async function lockForWriter(ctx: Context, em: EntityManager, room: number): Promise<Writer> {
  const [writer] = await runNamed(em, lockRoomForWriter, [room, viewerOf(ctx).viewer])
  if (!writer) throw new Problem('not_found', { issues: [unknown('rooms', ['room'])] })
  if (!['admin', 'editor'].includes(writer.role)) throw new Problem('not_permitted')
  return writer
}

interface Sent {
  id: number
  thread: number | null
  isNew: boolean
}

async function insert(em: EntityManager, { member }: Writer, sending: Sending): Promise<Sent> {
  const { content, keyEpoch, clientId } = sending
  const room = Number(sending.room)
  const thread = sending.thread === null ? null : Number(sending.thread)
  const values = [room, member, content, keyEpoch, clientId, thread]
  const [sent] = await runNamed(em, insertMessage, values)
  if (sent) return { ...sent, isNew: true }
  const [known] = clientId === null ? [] : await em.execute<{ id: number }[]>(findSentMessage, [member, clientId])
  if (known) return { id: known.id, thread: null, isNew: false }
  throw new Problem('not_found', { issues: [unknown('room-messages', ['thread'])] })
}
