import type { EntityManager } from '@mikro-orm/postgresql'
import {
  eraseEmptyMessages,
  listFilesOfRoom,
  lockRoomOfAttachment,
  type RemovedAttachment,
  removeAttachment,
  removeAttachmentsOfMessage,
  removeAttachmentsOfUploader,
} from '../../../entities/rooms/attachment.sql.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { Erasing } from '../../core/hooks.ts'
import { runNamed } from '../../core/run-named.ts'
import { lockRow, type Version } from '../../verbs/lock.ts'
import { attachments } from './attachments.ts'

interface Transaction {
  em: EntityManager
  changes: ChangeRecorder
}

/** Deletes an attachment, and the place of its message is all that is left of one that had nothing else. */
export async function deleteAttachment(ctx: Context, { id, ifVersion }: Version): Promise<{ id: string }> {
  await changing(ctx, async (em, changes) => {
    await runNamed(em, lockRoomOfAttachment, [attachments.ids.keyOf(id)])
    await lockRow(ctx, em, attachments, { id, ifVersion, verb: 'delete' })
    await removeFromMessages({ em, changes }, removeAttachment, attachments.ids.keyOf(id))
  })
  return { id }
}

/** Deletes everything that somebody who is erased has uploaded. */
export async function letGoOfAttachments({ userId, em, changes, report }: Erasing): Promise<void> {
  const deleted = await removeFromMessages({ em, changes }, removeAttachmentsOfUploader, userId)
  report['attachments'] = { deleted, kept: 0 }
}

/** Deletes the attachments of a message that is about to be deleted. */
export async function dropAttachmentsOf(at: Transaction, message: number): Promise<void> {
  await remove(at, removeAttachmentsOfMessage, message)
}

/** Lets go of all files of a room whose rows go with it. */
export async function dropFilesOfRoom({ em, changes }: Transaction, room: number): Promise<void> {
  const files = await em.execute<{ uuid: string }[]>(listFilesOfRoom, [room])
  changes.dropFiles(files.map(({ uuid }) => uuid))
}

/** Returns how many there were. */
async function removeFromMessages(at: Transaction, statement: string, key: number): Promise<number> {
  const removed = await remove(at, statement, key)
  const messages = new Map(removed.flatMap(({ message, room }) => (message && room ? [[message, room] as const] : [])))
  if (messages.size > 0) await runNamed(at.em, eraseEmptyMessages, [[...messages.keys()]])
  for (const [message, room] of messages) at.changes.add([`room:${room}`], 'updated', 'room-messages', message)
  return removed.length
}

async function remove({ em, changes }: Transaction, statement: string, key: number): Promise<RemovedAttachment[]> {
  const removed = await em.execute<RemovedAttachment[]>(statement, [key])
  changes.dropFiles(removed.map(({ uuid }) => uuid))
  for (const { id, room } of removed) if (room) changes.add([`room:${room}`], 'deleted', attachments.type, id)
  return removed
}
