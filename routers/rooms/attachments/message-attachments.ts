import type { EntityManager } from '@mikro-orm/postgresql'
import {
  eraseEmptyMessages,
  findRoomOfAttachment,
  linkAttachments,
  listFilesOfRoom,
  lockOwnerOfPrivateFile,
  lockRoomOfAttachment,
  type RemovedAttachment,
  removeAttachments,
  removeAttachmentsOfMessage,
  removeAttachmentsOfUploader,
} from '../../../entities/rooms/attachment.sql.ts'
import {
  deleteEmptyConversationMessages,
  nameConversationMessages,
} from '../../../entities/rooms/conversation-message.sql.ts'
import type { Statement } from '../../../entities/sql/statement.ts'
import type { ChangeRecorder, ChangeTransaction } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { Erasure } from '../../core/hooks.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { createUnknownIssue, lockRow, type Version } from '../../verbs/lock-row.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { attachments } from './attachments.ts'

interface LinkedAttachments {
  em: EntityManager
  changes: ChangeRecorder
  room: number
  message: number
  ids: readonly string[]
}

/**
 * Links uploaded files of the caller to a new message. A file of somebody else, or of another message, is not found.
 */
export async function linkToMessage(
  ctx: Context,
  { em, changes, room, message, ids }: LinkedAttachments,
): Promise<void> {
  if (ids.length === 0) return
  const linked = await runStatement(em, linkAttachments, [message, room, toViewer(ctx).viewer, ids.map(Number)])
  assertAllLinked(linked, ids)
  for (const { id } of linked) changes.add([`room:${room}`], 'created', attachments.type, id)
}

/** Throws if one of the ids could not be linked. */
export function assertAllLinked(linked: readonly { id: number }[], ids: readonly string[]): void {
  const known = new Set(linked.map(({ id }) => String(id)))
  const issues = ids.flatMap((id, index) =>
    known.has(id) ? [] : [createUnknownIssue(attachments.type, ['attachments', index])],
  )
  if (issues.length > 0) throw new Problem('not_found', { issues })
}

/** Throws if a message has more files than the settings allow. */
export function assertAttachmentCount({ services }: Context, ids: readonly string[]): void {
  const { perMessage } = services.settings.attachments
  if (ids.length <= perMessage) return
  throw new Problem('invalid', {
    issues: [{ path: ['attachments'], message: `must have at most ${perMessage} files` }],
  })
}

/** Deletes an attachment. An empty message stays as a deleted one in a room, and is deleted in a conversation. */
export async function deleteAttachment(ctx: Context, { id, ifVersion }: Version): Promise<{ id: string }> {
  const key = attachments.ids.toKey(id)
  const remove = async (em: EntityManager, changes: ChangeRecorder) => {
    await runStatement(em, lockOwnerOfPrivateFile, [key])
    await runStatement(em, lockRoomOfAttachment, [key])
    await lockRow(ctx, em, attachments, { id, ifVersion, verb: 'delete' })
    await removeFromMessages({ em, changes }, removeAttachments, [key])
  }
  const [found] = await ctx.services.sql(findRoomOfAttachment, [key])
  await withChangeLog(ctx, remove, found?.room ? `room:${found.room}` : undefined)
  return { id }
}

/**
 * Deletes attachments of one uploader, whose row and rooms are locked; returns the number of those that still existed.
 */
export const deleteAttachmentsById = (transaction: ChangeTransaction, ids: readonly number[]): Promise<number> =>
  removeFromMessages(transaction, removeAttachments, ids)

/** Deletes all uploads of a person who is erased. */
export async function deleteAttachmentsOnErase({ userId, em, changes, report }: Erasure): Promise<void> {
  const deleted = await removeFromMessages({ em, changes }, removeAttachmentsOfUploader, userId)
  report['attachments'] = { deleted, kept: 0 }
}

/** Deletes the attachments of a message that is about to be deleted. */
export async function deleteAttachmentsOfMessage(transaction: ChangeTransaction, message: number): Promise<void> {
  await deleteAttachmentRows(transaction, removeAttachmentsOfMessage, message)
}

/** Deletes all files of a room whose rows are deleted with it. */
export async function deleteFilesOfRoom({ em, changes }: ChangeTransaction, room: number): Promise<void> {
  const files = await runStatement(em, listFilesOfRoom, [room])
  changes.dropFiles(files.map(({ uuid }) => uuid))
}

/** Deletes attachments and updates their messages; returns the number of attachments. */
async function removeFromMessages(
  transaction: ChangeTransaction,
  statement: Statement<RemovedAttachment>,
  key: number | readonly number[],
): Promise<number> {
  const removed = await deleteAttachmentRows(transaction, statement, key)
  const messages = new Map(removed.flatMap(({ message, room }) => (message && room ? [[message, room] as const] : [])))
  if (messages.size > 0) await runStatement(transaction.em, eraseEmptyMessages, [[...messages.keys()]])
  for (const [message, room] of messages) transaction.changes.add([`room:${room}`], 'updated', 'room-messages', message)
  await updatePrivateMessages(transaction, removed)
  return removed.length
}

/** Deletes conversation messages without content, and records the others as changed. */
async function updatePrivateMessages({ em, changes }: ChangeTransaction, removed: readonly RemovedAttachment[]) {
  const messages = [...new Set(removed.flatMap(({ privateMessage }) => privateMessage ?? []))]
  const [owner] = removed
  if (!owner || messages.length === 0) return
  const messageNames = await runStatement(em, nameConversationMessages, [messages])
  await runStatement(em, deleteEmptyConversationMessages, [messages])
  for (const { slug, number, isEmpty } of messageNames) {
    const verb = isEmpty ? 'deleted' : 'updated'
    changes.add([`user:${owner.uploader}`], verb, 'conversation-messages', `${slug}/${number}`)
    changes.add([`user:${owner.uploader}`], 'updated', 'conversations', slug)
  }
}

/** Deletes attachments and records their deletion; their messages stay as they are. */
export async function deleteAttachmentRows(
  { em, changes }: ChangeTransaction,
  statement: Statement<RemovedAttachment>,
  key: number | readonly number[],
): Promise<RemovedAttachment[]> {
  const removed = await runStatement(em, statement, [key])
  changes.dropFiles(removed.map(({ uuid }) => uuid))
  for (const { id, room, privateMessage, uploader } of removed) {
    if (room) changes.add([`room:${room}`], 'deleted', attachments.type, id)
    if (privateMessage) changes.add([`user:${uploader}`], 'deleted', attachments.type, id)
  }
  return removed
}
