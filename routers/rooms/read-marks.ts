import { findMembership } from '../../entities/rooms/room-member.sql.ts'
import { markRead as markReadText } from '../../entities/rooms/room-message.sql.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { unknown } from '../verbs/lock.ts'
import { viewerOf } from '../verbs/viewer.ts'

interface Marked {
  member: number
  isNew: boolean
}

/** Marks the messages of a room as read by the caller, up to one of them. A mark never goes back. */
export async function markRead(ctx: Context, room: number, upTo: number): Promise<{ meta: { upTo: string } }> {
  const { viewer } = viewerOf(ctx)
  await assertMember(ctx, room)
  await changing(ctx, async (em, changes) => {
    const [marked] = await em.execute<Marked[]>(markReadText, [upTo, room, viewer])
    if (!marked) throw new Problem('not_found', { issues: [unknown('room-messages', ['upTo'])] })
    if (!marked.isNew) return
    changes.add([`room:${room}`], 'updated', 'room-members', marked.member)
    changes.add([`user:${viewer}`], 'updated', 'rooms', room)
  })
  return { meta: { upTo: `${upTo}` } }
}

/** A room of which the caller is no member is not there. */
export async function assertMember(ctx: Context, room: number): Promise<void> {
  const [member] = await ctx.services.sql(findMembership, [room, viewerOf(ctx).viewer])
  if (member) return
  throw new Problem('not_found', { detail: `There is no resource of the type rooms with the id ${room}.` })
}
