import type { EntityManager } from '@mikro-orm/postgresql'
import { linkAttachments } from '../../../entities/rooms/attachment.sql.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { unknown } from '../../verbs/lock.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { attachments } from './attachments.ts'

interface Linking {
  em: EntityManager
  changes: ChangeRecorder
  room: number
  message: number
  ids: readonly string[]
}

/** Makes the caller's files part of a message that was just written. One that is not theirs, or belongs to a message, is not there. */
export async function linkToMessage(ctx: Context, { em, changes, room, message, ids }: Linking): Promise<void> {
  if (ids.length === 0) return
  const linked = await runStatement(em, linkAttachments, [message, room, toViewer(ctx).viewer, ids.map(Number)])
  assertAllLinked(linked, ids)
  for (const { id } of linked) changes.add([`room:${room}`], 'created', attachments.type, id)
}

/** Throws where one of the ids is not among those that could be linked. */
export function assertAllLinked(linked: readonly { id: number }[], ids: readonly string[]): void {
  const known = new Set(linked.map(({ id }) => String(id)))
  const issues = ids.flatMap((id, index) => (known.has(id) ? [] : [unknown(attachments.type, ['attachments', index])]))
  if (issues.length > 0) throw new Problem('not_found', { issues })
}

/** Throws where a message has more files than the settings allow. */
export function assertFewAttachments({ services }: Context, ids: readonly string[]): void {
  const { perMessage } = services.settings.attachments
  if (ids.length <= perMessage) return
  throw new Problem('invalid', {
    issues: [{ path: ['attachments'], message: `must have at most ${perMessage} files` }],
  })
}
