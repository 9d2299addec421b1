import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import {
  linkToConversation,
  removeAttachments,
  removeAttachmentsOfPrivateMessage,
} from '../../../entities/rooms/attachment.sql.ts'
import {
  type ConversationMessageRow,
  deleteConversationMessage,
  findConversationMessage,
  findConversationMessages,
  findMessageToChange,
  insertConversationMessage,
  type MessageName,
  type MessageToChange,
  updateConversationMessage,
} from '../../../entities/rooms/conversation-message.sql.ts'
import type { ChangeTransaction } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { attachments } from '../attachments/attachments.ts'
import { assertAllLinked, deleteAttachmentRows } from '../attachments/message-attachments.ts'
import {
  assertMessageCount,
  assertWithinQuota,
  type CursorPage,
  lockOwnConversation,
  readConversation,
  recordConversationChange,
  slug,
} from './conversations.ts'
import {
  assertAnswerHasModel,
  assertMessageFits,
  countMessageBytes,
  MAX_NUMBER,
  type MessageChange,
  messageNumber,
  type NewMessage,
  parseMessageNumber,
} from './message-input.ts'

const MAX_MESSAGES = 1000
/** Bytes of one response; it always contains the first message. */
const MAX_BYTES = 16 * 1024 * 1024

export const messagesInput = z.strictObject({
  slug,
  page: z
    .strictObject({
      size: z.coerce.number().int().min(1).max(MAX_MESSAGES).default(50),
      before: messageNumber.optional().describe('The number of a message. The list has only earlier messages.'),
    })
    .prefault({}),
})

/** Lists the last messages of a conversation in the order of their numbers, or those before a cursor. */
export async function listMessages(
  ctx: Context,
  { slug, page: { size, before } }: z.output<typeof messagesInput>,
): Promise<CursorPage<ConversationMessageRow>> {
  const { id } = await readConversation(ctx, slug)
  const [seq, subSeq] = before === undefined ? [MAX_NUMBER, MAX_NUMBER] : parseMessageNumber(before)
  const rows = await ctx.services.sql(findConversationMessages, [Number(id), seq, subSeq, size + 1, MAX_BYTES])
  const found = rows[0]?.found ?? 0
  // The rows end with the newest message, so the surplus one is the first.
  const data = rows.slice(rows.length > size ? 1 : 0).map(({ found: _, ...message }) => message)
  return { data, meta: { next: found > data.length ? (data[0]?.number ?? null) : null } }
}

/** Stores a message with the next number of its conversation or thread. */
export async function sendMessage(ctx: Context, message: NewMessage): Promise<ConversationMessageRow> {
  assertMessageFits(ctx, message)
  const { slug, attachments } = message
  const id = await withChangeLog(ctx, async (em, changes) => {
    const { id: conversation, messageCount } = await lockOwnConversation(ctx, em, slug)
    assertMessageCount(ctx, messageCount + 1)
    await assertWithinQuota(ctx, em, { bytes: countMessageBytes(message) })
    await assertParentExists(em, conversation, message)
    const { id, number } = await insertMessage(em, conversation, message)
    await linkFiles(ctx, { em, changes }, id, attachments)
    recordMessageChange(ctx, { em, changes }, 'created', { slug, number })
    return id
  })
  return readMessage(ctx, id)
}

async function assertParentExists(em: EntityManager, conversation: number, { parent }: NewMessage): Promise<void> {
  if (parent === null || parent === 0) return
  const [found] = await runStatement(em, findMessageToChange, [conversation, parent, 0])
  if (!found) throw new Problem('not_found', { issues: [{ path: ['parent'], message: 'is the number of no message' }] })
}

async function insertMessage(em: EntityManager, conversation: number, message: NewMessage) {
  const { thread, role, model, content, metadata, isComplete, parent } = message
  const values = [
    conversation,
    thread,
    role,
    model,
    content,
    stringifyMetadata(metadata),
    isComplete,
    countMessageBytes(message),
    parent,
  ]
  const [written] = await runStatement(em, insertConversationMessage, values)
  if (!written)
    throw new Problem('not_found', { issues: [{ path: ['thread'], message: 'is the number of no message' }] })
  return written
}

/** Changes the given members of a message, and keeps the rest. */
export async function changeMessage(
  ctx: Context,
  { slug, number, ...change }: MessageChange,
): Promise<ConversationMessageRow> {
  const id = await withChangeLog(ctx, async (em, changes) => {
    const { id: conversation } = await lockOwnConversation(ctx, em, slug)
    const { files, ...before } = await findMessage(em, conversation, number)
    const attachments = change.attachments ?? files.map(String)
    const after = { ...before, ...definedOnly(change), attachments }
    assertMessageFits(ctx, after)
    assertAnswerHasModel(after)
    await assertWithinQuota(ctx, em, { bytes: countMessageBytes(after) - countMessageBytes(before) })
    const { id, role, model, content, metadata, isComplete } = after
    const values = [id, role, model, content, stringifyMetadata(metadata), isComplete, countMessageBytes(after)]
    await runStatement(em, updateConversationMessage, values)
    await replaceFiles(ctx, { em, changes }, { id, files }, attachments)
    recordMessageChange(ctx, { em, changes }, 'updated', { slug, number })
    return id
  })
  return readMessage(ctx, id)
}

/** Deletes a message with its files; its number is not reused, and replies to it stay. */
export async function removeMessage(
  ctx: Context,
  { slug, number }: { slug: string; number: string },
): Promise<MessageName> {
  await withChangeLog(ctx, async (em, changes) => {
    const { id: conversation } = await lockOwnConversation(ctx, em, slug)
    const { id } = await findMessage(em, conversation, number)
    await deleteFiles({ em, changes }, id)
    await runStatement(em, deleteConversationMessage, [id])
    recordMessageChange(ctx, { em, changes }, 'deleted', { slug, number })
  })
  return { slug, number }
}

async function findMessage(em: EntityManager, conversation: number, number: string): Promise<MessageToChange> {
  const [found] = await runStatement(em, findMessageToChange, [conversation, ...parseMessageNumber(number)])
  if (!found) throw new Problem('not_found', { detail: 'There is no such message.' })
  return found
}

async function readMessage(ctx: Context, id: number): Promise<ConversationMessageRow> {
  const [found] = await ctx.services.sql(findConversationMessage, [id])
  if (!found) throw new Problem('not_found', { detail: 'There is no such message.' })
  return found
}

/** Records a change of a message and of its conversation, which moves to the top of the list. */
function recordMessageChange(
  ctx: Context,
  transaction: ChangeTransaction,
  verb: 'created' | 'updated' | 'deleted',
  { slug, number }: MessageName,
): void {
  transaction.changes.add([`user:${toViewer(ctx).viewer}`], verb, 'conversation-messages', `${slug}/${number}`)
  recordConversationChange(ctx, transaction, 'updated', slug)
}

const stringifyMetadata = (metadata: unknown) => (metadata ? JSON.stringify(metadata) : null)

const definedOnly = <T extends object>(members: T) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }

/** Links uploaded files of the caller to a message. A file of somebody else, or of another message, is not found. */
async function linkFiles(ctx: Context, { em, changes }: ChangeTransaction, message: number, ids: readonly string[]) {
  if (ids.length === 0) return
  const { viewer } = toViewer(ctx)
  const linked = await runStatement(em, linkToConversation, [message, viewer, ids.map(Number)])
  assertAllLinked(linked, ids)
  for (const { id } of linked) changes.add([`user:${viewer}`], 'created', attachments.type, id)
}

/** Replaces the files of a message: files that are no longer listed are deleted. */
async function replaceFiles(
  ctx: Context,
  transaction: ChangeTransaction,
  { id, files }: { id: number; files: readonly number[] },
  attachments: readonly string[],
): Promise<void> {
  const kept = new Set(attachments.map(Number))
  const dropped = files.filter((file) => !kept.has(file))
  if (dropped.length > 0) await deleteAttachmentRows(transaction, removeAttachments, dropped)
  const earlier = new Set(files)
  await linkFiles(
    ctx,
    transaction,
    id,
    attachments.filter((file) => !earlier.has(Number(file))),
  )
}

/** Deletes the files of a message that is about to be deleted. */
async function deleteFiles(transaction: ChangeTransaction, message: number): Promise<void> {
  await deleteAttachmentRows(transaction, removeAttachmentsOfPrivateMessage, message)
}
