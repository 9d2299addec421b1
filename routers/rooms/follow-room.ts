import { findMembership } from '../../entities/rooms/room-member.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { followChanges } from '../verbs/follow-changes.ts'
import { roomMembers } from './members/members.ts'
import { noSuchRoom } from './room-access.ts'

type Following = Context & { caller: Extract<Caller, { type: 'user' }> }

/** Tells a member what changes in a room, up to the change that ends the membership or the room. */
export function followRoom(ctx: Following, room: number, after: string | undefined) {
  const admit = async () => {
    const [member] = await ctx.services.sql(findMembership, [room, ctx.caller.person.id])
    if (!member) throw noSuchRoom(room)
    const last = { [`${roomMembers.type}.deleted`]: `${member.id}`, 'rooms.deleted': `${room}` }
    return ({ kind, subject }: { kind: string; subject: string }) => last[kind] === subject
  }
  return followChanges(ctx, { stream: `room:${room}`, after, admit })
}
