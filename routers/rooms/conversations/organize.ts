import { z } from 'zod'
import {
  type ConversationFolder,
  type ConversationRow,
  countOrganized,
  listConversationFolders,
  organizeConversation,
  renameConversationFolder,
} from '../../../entities/rooms/conversation.sql.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { full, lockOwn, noteConversation, readConversation, slug } from './conversation.ts'

/** Of folders, and of pinned conversations. */
const MOST = 100

export const folderName = z.string().trim().min(1).max(120)

export const organization = z.strictObject({
  slug,
  isPinned: z.boolean().optional().describe('Whether it stands above the others.'),
  folder: folderName.nullable().optional().describe('The folder that it is put in; null takes it out. Not encrypted.'),
})

export const folderChange = z.strictObject({
  name: folderName,
  newName: folderName.nullable().describe('Null dissolves the folder; what lies in it stays.'),
})

/** Pins a conversation or puts it in a folder, which is there as long as something lies in it. */
export async function organize(
  ctx: Context,
  { slug, isPinned, folder }: z.output<typeof organization>,
): Promise<ConversationRow> {
  await changing(ctx, async (em, changes) => {
    const { id } = await lockOwn(ctx, em, slug)
    await runStatement(em, organizeConversation, [id, isPinned, folder !== undefined, folder])
    const [kept] = await runStatement(em, countOrganized, [toViewer(ctx).viewer])
    const { folders = 0, pinned = 0 } = kept ?? {}
    if (isPinned && pinned > MOST) throw full(`A person pins at most ${MOST} conversations.`)
    if (folder && folders > MOST) throw full(`A person has at most ${MOST} folders.`)
    noteConversation(ctx, { em, changes }, 'updated', slug)
  })
  return readConversation(ctx, slug)
}

export const listFolders = (ctx: Context): Promise<ConversationFolder[]> =>
  ctx.services.sql(listConversationFolders, [toViewer(ctx).viewer])

/** Gives a folder another name, under which there may be one already. */
export async function changeFolder(
  ctx: Context,
  { name, newName }: z.output<typeof folderChange>,
): Promise<ConversationFolder[]> {
  await changing(ctx, async (em, changes) => {
    const changed = await runStatement(em, renameConversationFolder, [toViewer(ctx).viewer, name, newName])
    if (changed.length === 0) throw new Problem('not_found', { detail: 'There is no such folder.' })
    for (const { slug } of changed) noteConversation(ctx, { em, changes }, 'updated', slug)
  })
  return listFolders(ctx)
}
