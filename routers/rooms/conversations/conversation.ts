import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import {
  type ConversationRow,
  findConversation,
  type LockedConversation,
  lockConversation,
  measureConversations,
} from '../../../entities/rooms/conversation.sql.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { toViewer } from '../../verbs/viewer.ts'

export const slug = z.string().min(1).max(100).describe('What the conversation is called in addresses.')

/** A transaction that changes conversations of the caller. */
export interface Changing {
  em: EntityManager
  changes: ChangeRecorder
}

export const noSuchConversation = () => new Problem('not_found', { detail: 'There is no such conversation.' })

/** A conversation of the caller; those of others are not there. */
export async function readConversation(ctx: Context, slug: string): Promise<ConversationRow> {
  const [found] = await ctx.services.sql(findConversation, [slug, toViewer(ctx).viewer])
  if (!found) throw noSuchConversation()
  return found
}

/** Locks a conversation of the caller, and the caller before it: they go past no quota by two requests at once. */
export async function lockOwn(ctx: Context, em: EntityManager, slug: string): Promise<LockedConversation> {
  const [locked] = await runStatement(em, lockConversation, [slug, toViewer(ctx).viewer])
  if (!locked) throw noSuchConversation()
  return locked
}

/** Throws where the caller, who is locked, would have more than they may. Whoever has too much may still have less. */
export async function assertWithinQuota(ctx: Context, em: EntityManager, more: { bytes: number; conversations?: 1 }) {
  const { perPerson, bytesPerPerson } = ctx.services.settings.conversations
  const [kept] = await runStatement(em, measureConversations, [toViewer(ctx).viewer])
  const { count = 0, bytes = 0 } = kept ?? {}
  if (more.conversations && count >= perPerson) throw full(`A person has at most ${perPerson} conversations.`)
  if (more.bytes > 0 && bytes + more.bytes > bytesPerPerson)
    throw full(`The conversations of a person take at most ${bytesPerPerson} bytes.`)
}

/** Throws where a conversation would have more messages than it may. */
export function assertFewMessages(ctx: Context, count: number): void {
  const { messages: most } = ctx.services.settings.conversations
  if (count > most) throw full(`A conversation has at most ${most} messages.`)
}

/** How much the caller has, and may have. */
export async function readQuota(ctx: Context) {
  const { perPerson, bytesPerPerson, messages, messageSize } = ctx.services.settings.conversations
  const [kept] = await ctx.services.sql(measureConversations, [toViewer(ctx).viewer])
  return {
    conversations: { most: perPerson, kept: kept?.count ?? 0 },
    bytes: { most: bytesPerPerson, kept: kept?.bytes ?? 0 },
    /** Of one conversation. */
    messages,
    /** Of one message, in characters of its ciphertext. */
    messageSize,
  }
}

export const full = (detail: string) => new Problem('invalid', { detail })

/** Tells the caller's other programs what is different about a conversation. */
export function noteConversation(
  ctx: Context,
  { changes }: Changing,
  verb: 'created' | 'updated' | 'deleted',
  slug: string,
): void {
  changes.add([`user:${toViewer(ctx).viewer}`], verb, 'conversations', slug)
}
