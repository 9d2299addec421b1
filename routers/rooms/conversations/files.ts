import {
  linkToConversation,
  removeAttachments,
  removeAttachmentsOfPrivateMessage,
} from '../../../entities/rooms/attachment.sql.ts'
import type { Context } from '../../core/context.ts'
import { runStatement } from '../../core/run-statement.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { attachments } from '../attachments/attachments.ts'
import { assertAllLinked } from '../attachments/link.ts'
import { remove } from '../attachments/remove.ts'
import type { Changing } from './conversation.ts'

/** Makes files of the caller part of a message of theirs. One that is not theirs, or belongs to another message, is not there. */
export async function linkFiles(ctx: Context, { em, changes }: Changing, message: number, ids: readonly string[]) {
  if (ids.length === 0) return
  const { viewer } = toViewer(ctx)
  const linked = await runStatement(em, linkToConversation, [message, viewer, ids.map(Number)])
  assertAllLinked(linked, ids)
  for (const { id } of linked) changes.add([`user:${viewer}`], 'created', attachments.type, id)
}

/** Gives a message exactly these files: others that it had are deleted. */
export async function settleFiles(
  ctx: Context,
  at: Changing,
  { id, files }: { id: number; files: readonly number[] },
  wanted: readonly string[],
): Promise<void> {
  const kept = new Set(wanted.map(Number))
  const dropped = files.filter((file) => !kept.has(file))
  if (dropped.length > 0) await remove(at, removeAttachments, dropped)
  const had = new Set(files)
  await linkFiles(
    ctx,
    at,
    id,
    wanted.filter((file) => !had.has(Number(file))),
  )
}

/** Deletes the files of a message that is about to be deleted. */
export async function dropFiles(at: Changing, message: number): Promise<void> {
  await remove(at, removeAttachmentsOfPrivateMessage, message)
}
