import { z } from 'zod'
import { type ConversationRow, listConversations } from '../../../entities/rooms/conversation.sql.ts'
import {
  type ConversationMessageRow,
  findConversationMessages,
} from '../../../entities/rooms/conversation-message.sql.ts'
import type { Context } from '../../core/context.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { readConversation, slug } from './conversation.ts'
import { LAST, messageNumber, parseNumber } from './number.ts'
import { folderName } from './organize.ts'

/** A part of a list. `next` says where the following one begins, and is null behind the last one. */
export interface Part<T> {
  data: T[]
  meta: { next: string | null }
}

const MAX_CONVERSATIONS = 200

export const listInput = z
  .strictObject({
    page: z
      .strictObject({
        size: z.coerce.number().int().min(1).max(MAX_CONVERSATIONS).default(50),
        after: z
          .string()
          .regex(/^\d{1,15}-\d{1,10}$/, { error: 'must be the `next` of an answer' })
          .optional(),
      })
      .prefault({}),
    isPinned: z.boolean().optional().describe('Only those that are pinned, or only the others.'),
    folder: folderName.nullable().optional().describe('Only those in this folder; null for those in none.'),
    name: z.string().trim().min(1).max(120).optional().describe('Only those with this in their names.'),
  })
  .prefault({})

const [LATEST, HIGHEST] = [8e15, 2_147_483_647]

/** What stands for any text in a pattern stands for itself in a name. */
const patternFor = (name: string) => `%${name.replace(/[\\%_]/g, '\\$&')}%`

/** The caller's conversations, those that were changed last first. */
export async function listOwn(
  ctx: Context,
  { page: { size, after }, isPinned, folder, name }: z.output<typeof listInput>,
): Promise<Part<ConversationRow>> {
  const [time = LATEST, id = HIGHEST] = after?.split('-').map(Number) ?? []
  const rows = await ctx.services.sql(listConversations, [
    ...[toViewer(ctx).viewer, time, Math.min(id, HIGHEST), size + 1],
    ...[isPinned, folder, name === undefined ? undefined : patternFor(name), folder === null],
  ])
  const data = rows.slice(0, size)
  const last = rows.length > size ? data.at(-1) : undefined
  return { data, meta: { next: last ? `${Date.parse(last.updatedAt)}-${last.id}` : null } }
}

const MAX_MESSAGES = 1000
/** Of one answer; the first message is always in it. */
const MAX_BYTES = 16 * 1024 * 1024

export const messagesInput = z.strictObject({
  slug,
  page: z
    .strictObject({
      size: z.coerce.number().int().min(1).max(MAX_MESSAGES).default(50),
      before: messageNumber.optional().describe('The number of a message: only those before it are listed.'),
    })
    .prefault({}),
})

/** The last messages of a conversation in the order of their numbers, or those before one of them. */
export async function listMessages(
  ctx: Context,
  { slug, page: { size, before } }: z.output<typeof messagesInput>,
): Promise<Part<ConversationMessageRow>> {
  const { id } = await readConversation(ctx, slug)
  const [seq, subSeq] = before === undefined ? [LAST, LAST] : parseNumber(before)
  const rows = await ctx.services.sql(findConversationMessages, [Number(id), seq, subSeq, size + 1, MAX_BYTES])
  const found = rows[0]?.found ?? 0
  // They end with the last one, so one too many stands first.
  const data = rows.slice(rows.length > size ? 1 : 0).map(({ found: _, ...message }) => message)
  return { data, meta: { next: found > data.length ? (data[0]?.number ?? null) : null } }
}
