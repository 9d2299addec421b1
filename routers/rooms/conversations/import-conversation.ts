import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import {
  findImportedConversation,
  type ImportedConversation,
  insertImportedConversation,
} from '../../../entities/rooms/conversation.sql.ts'
import { appendImportedMessages } from '../../../entities/rooms/conversation-message.sql.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { time } from '../../resource/declare.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { content } from '../message-content.ts'
import {
  assertMessageCount,
  assertWithinQuota,
  createSlug,
  name,
  recordConversationChange,
  sealedName,
} from './conversations.ts'
import {
  assertMessageFits,
  countMessageBytes,
  hasModel,
  MAX_NUMBER,
  messageMembers,
  NO_MODEL,
} from './message-input.ts'

/** Messages that one call may import. */
const MAX_MESSAGES = 500

const importedMessage = z
  .strictObject({
    role: messageMembers.role,
    model: messageMembers.model.default(null),
    content,
    isComplete: messageMembers.isComplete.default(true),
    parent: z
      .int()
      .min(0)
      .max(MAX_NUMBER)
      .describe(
        'The number, without decimals, of the earlier message that this one follows. It is 0 at the beginning.',
      ),
    createdAt: time,
  })
  .refine(hasModel, { path: ['model'], error: NO_MODEL })

export const conversationImportInput = z.strictObject({
  importId: z
    .string()
    .regex(/^[\w-]{1,64}$/, { error: 'must have 1 to 64 letters, digits, - and _' })
    .describe('The id of the conversation in its source. The caller has one conversation for each id.'),
  name: name.min(1),
  sealedName: sealedName.default(null),
  createdAt: time,
  updatedAt: time,
  after: z.int().min(0).max(MAX_NUMBER).default(0).describe('The number of its messages that earlier calls have sent.'),
  messages: z
    .array(importedMessage)
    .max(MAX_MESSAGES)
    .describe('The messages, which get the next numbers in this order.'),
  isWhole: z
    .boolean()
    .default(true)
    .describe('True if these are the last messages. The conversation is hidden until then.'),
})

type ConversationImport = z.output<typeof conversationImportInput>

/**
 * Imports a conversation by one or several calls. Until it is complete it counts as discarded, so that an abandoned
 * import is deleted soon. Messages that exist already are left unchanged.
 */
export function importConversation(ctx: Context, input: ConversationImport): Promise<{ slug: string; isNew: boolean }> {
  for (const message of input.messages) assertMessageFits(ctx, { ...message, attachments: [] })
  return withChangeLog(ctx, async (em, changes) => {
    const { viewer } = toViewer(ctx)
    await runStatement(em, lockPerson, [viewer])
    const [existing] = await runStatement(em, findImportedConversation, [viewer, input.importId])
    if (existing && !existing.isDiscarded) return { slug: existing.slug, isNew: false }
    const conversation = existing ?? (await insertConversation(ctx, em, input))
    await appendMessages(ctx, em, conversation, input)
    if (input.isWhole) recordConversationChange(ctx, { em, changes }, 'created', conversation.slug)
    return { slug: conversation.slug, isNew: true }
  })
}

async function insertConversation(
  ctx: Context,
  em: EntityManager,
  { importId, name, sealedName, createdAt, updatedAt }: ConversationImport,
): Promise<ImportedConversation> {
  await assertWithinQuota(ctx, em, { conversations: 1, bytes: 0 })
  const values = [toViewer(ctx).viewer, createSlug(), name, sealedName, importId, createdAt, updatedAt]
  const [inserted] = await runStatement(em, insertImportedConversation, values)
  if (!inserted) throw new Error('A conversation was not inserted.')
  return inserted
}

async function appendMessages(
  ctx: Context,
  em: EntityManager,
  { id, lastSeq }: ImportedConversation,
  { after, messages, isWhole }: ConversationImport,
): Promise<void> {
  if (after > lastSeq) throw createMemberProblem('after', `is more than the ${lastSeq} messages that are there`)
  const numbered = messages.map((message, index) => {
    const seq = after + index + 1
    if (message.parent >= seq) throw createMemberProblem('messages', 'follow only earlier ones')
    return { ...message, seq, bytes: countMessageBytes({ ...message, metadata: null }) }
  })
  const missing = numbered.filter(({ seq }) => seq > lastSeq)
  assertMessageCount(ctx, lastSeq + missing.length)
  await assertWithinQuota(ctx, em, { bytes: missing.reduce((sum, { bytes }) => sum + bytes, 0) })
  await runStatement(em, appendImportedMessages, [id, JSON.stringify(missing), isWhole])
}

const createMemberProblem = (member: string, message: string) =>
  new Problem('invalid', { issues: [{ path: [member], message }] })
