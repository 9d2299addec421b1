import { type AttachmentName, namesByUuid } from '../../../entities/rooms/attachment.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { unknown } from '../../verbs/lock.ts'
import { viewerOf } from '../../verbs/viewer.ts'
import { attachments } from './attachments.ts'

/** Attachments that the caller sees, in the order of the uuids; throws where one is not there. */
export async function findByUuid(ctx: Context, uuids: readonly string[]): Promise<AttachmentName[]> {
  if (uuids.length === 0) return []
  const values = namesByUuid.values({ ...viewerOf(ctx), filters: { uuids } })
  const found = new Map((await ctx.services.sql(namesByUuid.statement, values)).map((name) => [name.uuid, name]))
  const issues = uuids.flatMap((uuid, index) =>
    found.has(uuid.toLowerCase()) ? [] : [unknown(attachments.type, ['attachments', index])],
  )
  if (issues.length > 0) throw new Problem('not_found', { issues })
  return uuids.flatMap((uuid) => found.get(uuid.toLowerCase()) ?? [])
}
