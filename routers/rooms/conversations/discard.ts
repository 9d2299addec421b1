import { listFilesOfConversations } from '../../../entities/rooms/attachment.sql.ts'
import {
  type ConversationRow,
  deleteConversations,
  discardConversation,
  lockDiscarded,
  restoreConversation,
} from '../../../entities/rooms/conversation.sql.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { runStatement } from '../../core/run-statement.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { lockOwn, noSuchConversation, noteConversation, readConversation } from './conversation.ts'

/** For so long what was thrown away can be taken back; front ends offer it for a shorter time. */
const RESTORABLE_SECONDS = 60
/** Deleted in one transaction. */
const BATCH = 100

/** Throws a conversation away: nobody sees it any more, and soon it is deleted. */
export async function discard(ctx: Context, slug: string): Promise<{ slug: string }> {
  await changing(ctx, async (em, changes) => {
    const { id } = await lockOwn(ctx, em, slug)
    await runStatement(em, discardConversation, [id])
    noteConversation(ctx, { em, changes }, 'deleted', slug)
  })
  return { slug }
}

/** Takes a conversation back that was thrown away and is not deleted yet. */
export async function restore(ctx: Context, slug: string): Promise<ConversationRow> {
  await changing(ctx, async (em, changes) => {
    const [restored] = await runStatement(em, restoreConversation, [slug, toViewer(ctx).viewer])
    if (!restored) throw noSuchConversation()
    noteConversation(ctx, { em, changes }, 'created', slug)
  })
  return readConversation(ctx, slug)
}

/** Deletes what was thrown away and can be taken back no more, with its messages and files. */
export async function deleteDiscarded(ctx: Context): Promise<{ deleted: number }> {
  let deleted = 0
  for (;;) {
    const count = await changing(ctx, async (em, changes) => {
      const found = await runStatement(em, lockDiscarded, [RESTORABLE_SECONDS, BATCH])
      const ids = found.map(({ id }) => id)
      const files = await runStatement(em, listFilesOfConversations, [ids])
      changes.dropFiles(files.map(({ uuid }) => uuid))
      await runStatement(em, deleteConversations, [ids])
      return found.length
    })
    deleted += count
    if (count < BATCH) return { deleted }
  }
}
