import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import {
  type ConversationRow,
  discardConversations,
  lockConversations,
  type NamedConversation,
  restoreConversations,
} from '../../../entities/rooms/conversation.sql.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { runStatement } from '../../core/run-statement.ts'
import { toViewer } from '../../verbs/viewer.ts'
import {
  createUnknownConversationProblem,
  organizationInput,
  organize,
  readConversation,
  recordConversationChange,
  slug,
} from './conversations.ts'

/** Conversations that one call may change. */
const MAX_SELECTED = 200

const slugs = z
  .array(slug)
  .min(1)
  .max(MAX_SELECTED)
  .describe('The names of the conversations in addresses. Those that do not exist are left out.')

export const selectionInput = z.strictObject({ slugs })

export const selectionChangeInput = organizationInput.pick({ folder: true, isArchived: true }).extend({ slugs })

/** The conversations that a call has changed. */
interface ChangedConversations {
  slugs: string[]
}

/** Locks the caller and then their conversations; those of others are left out. */
async function lockSelected(ctx: Context, em: EntityManager, slugs: readonly string[]): Promise<NamedConversation[]> {
  const { viewer } = toViewer(ctx)
  await runStatement(em, lockPerson, [viewer])
  return runStatement(em, lockConversations, [slugs, viewer])
}

/** Archives conversations, or moves them to a folder. */
export function organizeSelected(
  ctx: Context,
  { slugs, ...change }: z.output<typeof selectionChangeInput>,
): Promise<ChangedConversations> {
  return withChangeLog(ctx, async (em, changes) => {
    const selected = await lockSelected(ctx, em, slugs)
    const ids = selected.map(({ id }) => id)
    await organize(ctx, em, ids, change)
    for (const { slug } of selected) recordConversationChange(ctx, { em, changes }, 'updated', slug)
    return { slugs: selected.map(({ slug }) => slug) }
  })
}

/** Discards conversations: they are no longer visible, and are deleted soon. */
export function discardSelected(ctx: Context, slugs: readonly string[]): Promise<ChangedConversations> {
  return withChangeLog(ctx, async (em, changes) => {
    const selected = await lockSelected(ctx, em, slugs)
    const ids = selected.map(({ id }) => id)
    await runStatement(em, discardConversations, [ids])
    for (const { slug } of selected) recordConversationChange(ctx, { em, changes }, 'deleted', slug)
    return { slugs: selected.map(({ slug }) => slug) }
  })
}

/** Restores discarded conversations that are not deleted yet. */
export function restoreSelected(ctx: Context, slugs: readonly string[]): Promise<ChangedConversations> {
  return withChangeLog(ctx, async (em, changes) => {
    const { viewer } = toViewer(ctx)
    await runStatement(em, lockPerson, [viewer])
    const restored = await runStatement(em, restoreConversations, [slugs, viewer])
    for (const { slug } of restored) recordConversationChange(ctx, { em, changes }, 'created', slug)
    return { slugs: restored.map(({ slug }) => slug) }
  })
}

export async function discardConversation(ctx: Context, slug: string): Promise<{ slug: string }> {
  const { slugs } = await discardSelected(ctx, [slug])
  if (slugs.length === 0) throw createUnknownConversationProblem()
  return { slug }
}

export async function restoreConversation(ctx: Context, slug: string): Promise<ConversationRow> {
  const { slugs } = await restoreSelected(ctx, [slug])
  if (slugs.length === 0) throw createUnknownConversationProblem()
  return readConversation(ctx, slug)
}
