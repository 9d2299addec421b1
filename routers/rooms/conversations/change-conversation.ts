import { randomInt } from 'node:crypto'
import { z } from 'zod'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import { listFilesOfConversations } from '../../../entities/rooms/attachment.sql.ts'
import {
  type ConversationRow,
  deleteConversations,
  insertConversation,
  updateConversation,
} from '../../../entities/rooms/conversation.sql.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { runStatement } from '../../core/run-statement.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { roomText } from '../rooms.ts'
import { assertWithinQuota, lockOwn, noteConversation, readConversation, slug } from './conversation.ts'

export const name = z.string().trim().max(255).describe('Not encrypted.')
const systemPrompt = roomText.nullable().describe('Ciphertext of what a model is told before all messages.')

export const newConversation = z.strictObject({
  name: name.default(''),
  systemPrompt: systemPrompt.default(null),
})

export const conversationChange = z.strictObject({
  slug,
  name: name.min(1).optional(),
  systemPrompt: systemPrompt.optional(),
})

const signs = 'abcdefghijklmnopqrstuvwxyz0123456789'
const SLUG_LENGTH = 16

export const randomSlug = () => Array.from({ length: SLUG_LENGTH }, () => signs[randomInt(signs.length)]).join('')

export async function createConversation(
  ctx: Context,
  { name, systemPrompt }: z.output<typeof newConversation>,
): Promise<ConversationRow> {
  const { viewer } = toViewer(ctx)
  const created = randomSlug()
  await changing(ctx, async (em, changes) => {
    await runStatement(em, lockPerson, [viewer])
    await assertWithinQuota(ctx, em, { conversations: 1, bytes: countBytes(systemPrompt) })
    await runStatement(em, insertConversation, [viewer, created, name || 'New Chat', systemPrompt])
    noteConversation(ctx, { em, changes }, 'created', created)
  })
  return readConversation(ctx, created)
}

/** Changes what is given, and keeps the rest. */
export async function changeConversation(
  ctx: Context,
  { slug, name, systemPrompt }: z.output<typeof conversationChange>,
): Promise<ConversationRow> {
  await changing(ctx, async (em, changes) => {
    const { id, promptBytes } = await lockOwn(ctx, em, slug)
    if (name === undefined && systemPrompt === undefined) return
    if (systemPrompt !== undefined) await assertWithinQuota(ctx, em, { bytes: countBytes(systemPrompt) - promptBytes })
    await runStatement(em, updateConversation, [id, name, systemPrompt !== undefined, systemPrompt])
    noteConversation(ctx, { em, changes }, 'updated', slug)
  })
  return readConversation(ctx, slug)
}

/** Deletes a conversation with its messages and their files. */
export async function removeConversation(ctx: Context, slug: string): Promise<{ slug: string }> {
  await changing(ctx, async (em, changes) => {
    const { id } = await lockOwn(ctx, em, slug)
    const files = await runStatement(em, listFilesOfConversations, [[id]])
    changes.dropFiles(files.map(({ uuid }) => uuid))
    await runStatement(em, deleteConversations, [[id]])
    noteConversation(ctx, { em, changes }, 'deleted', slug)
  })
  return { slug }
}

const countBytes = (text: string | null) => Buffer.byteLength(text ?? '')
