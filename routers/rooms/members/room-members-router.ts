import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { findInvitationsOfUser } from '../../../entities/rooms/room.sql.ts'
import {
  deleteAllExpiredInvitations,
  findMembership,
  findRoomOfMember,
} from '../../../entities/rooms/room-member.sql.ts'
import { RoomMember } from '../../../entities/rooms/room-member.ts'
import { listMemberEvents, type MemberEvent } from '../../../entities/rooms/room-member-event.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { about, host, router, userWith, withBodySize } from '../../core/trpc.ts'
import { deletePictures } from '../../identity/pictures/picture-files.ts'
import { exposeAs } from '../../resource/exposure.ts'
import { resourceId } from '../../resource/ids.ts'
import type { UpdateInput } from '../../resource/record.ts'
import { rowAction } from '../../verbs/action.ts'
import { deleteInBatches } from '../../verbs/delete-in-batches.ts'
import { dropUnchanged } from '../../verbs/drop-unchanged.ts'
import { createNotFoundProblem, lockRow } from '../../verbs/lock-row.ts'
import { defineReads, getRow, getRows } from '../../verbs/read.ts'
import { toViewer } from '../../verbs/viewer.ts'
import { buildCreateInput, buildUpdateInput, ifVersion } from '../../verbs/write-inputs.ts'
import { createUnknownRoomProblem, lockRoomById } from '../room-access.ts'
import {
  acceptInvitation,
  type InvitationInput,
  invitationsByName,
  invite,
  inviteByName,
  previewInvitation,
} from './invitations.ts'
import { type RoomTransaction, recordInvitationChanges, recordWithdrawnInvitations } from './member-events.ts'
import { invitationId, type MemberRecord, roomMembers } from './members.ts'
import { deleteIfEmpty, removeMember, withdrawInvitationsBy } from './memberships.ts'

type RoleChange = UpdateInput<typeof roomMembers>
type Removal = Pick<RoleChange, 'id' | 'ifVersion'>

const id = roomMembers.ids.schema
/** Invitations in one response. */
const MAX_INVITATIONS = 200
/** Invitations that are deleted in one transaction. */
const BATCH_SIZE = 500
const invitationSelector = z.strictObject({ id, proof: z.string().min(1).max(200).optional() })

export const roomMembersRouter = router({
  ...defineReads(roomMembers),

  create: userWith('write')
    .meta({ ...exposeAs(roomMembers, 'create'), ...about('Invite somebody to a room.'), ...withBodySize('record') })
    .input(buildCreateInput(roomMembers))
    .mutation(({ ctx, input }) => invite(ctx, ctx.caller.person.id, input as InvitationInput)),

  inviteByName: userWith('write')
    .meta({
      ...about('Invite people to a room by their usernames: all of them, or nobody.'),
      ...withBodySize('room keys'),
    })
    .input(invitationsByName)
    .mutation(({ ctx, input }) => inviteByName(ctx, ctx.caller.person.id, input)),

  invitations: userWith('read')
    .meta(about('List the invitations that the caller can accept.'))
    .query(async ({ ctx }): Promise<MemberRecord[]> => {
      const found = await ctx.services.sql(findInvitationsOfUser, [ctx.caller.person.id, MAX_INVITATIONS])
      const ids = found.map(({ id }) => invitationId(id))
      return getRows(ctx, roomMembers, ids)
    }),

  own: userWith('read')
    .meta(about('Read the membership of the caller in a room.'))
    .input(z.strictObject({ room: resourceId }))
    .query(async ({ ctx, input }): Promise<MemberRecord> => {
      const [membership] = await ctx.services.sql(findMembership, [Number(input.room), ctx.caller.person.id])
      if (!membership) throw new Problem('not_found', { detail: 'You are no member of this room.' })
      return getRow(ctx, roomMembers, `${membership.id}`)
    }),

  events: userWith('read')
    .meta(about('List who joined a room, left it or was removed from it, the oldest first.'))
    .input(z.strictObject({ room: resourceId }))
    .query(async ({ ctx, input }): Promise<MemberEvent[]> => {
      const [found] = await ctx.services.sql(listMemberEvents, [Number(input.room), ctx.caller.person.id])
      if (!found) throw createUnknownRoomProblem(Number(input.room))
      return found.events
    }),

  /** Several replicas may call it at once. */
  deleteExpiredInvitations: host.mutation(({ ctx }) =>
    deleteInBatches(BATCH_SIZE, () => ctx.services.sql(deleteAllExpiredInvitations, [BATCH_SIZE])),
  ),

  /** Uses POST, so that the proof appears in no address and no log. */
  preview: rowAction(roomMembers, 'preview', userWith('read'))
    .meta(
      about('Look at an invitation before it is accepted: `meta` has the role, the name of the room and who invites.'),
    )
    .input(invitationSelector)
    .mutation(({ ctx, input }) => previewInvitation(ctx, ctx.caller.person.id, input)),

  accept: rowAction(roomMembers, 'accept', userWith('write'))
    .meta(about('Accept an invitation, which becomes a membership; `meta` has the key of the room.'))
    .input(invitationSelector)
    .mutation(({ ctx, input }) => acceptInvitation(ctx, ctx.caller.person.id, input)),

  update: userWith('write')
    .meta({ ...exposeAs(roomMembers, 'update'), ...withBodySize('record') })
    .use(dropUnchanged(roomMembers))
    .input(buildUpdateInput(roomMembers))
    .mutation(({ ctx, input }) => changeRole(ctx, input as RoleChange)),

  delete: userWith('write')
    .meta({
      ...exposeAs(roomMembers, 'delete'),
      ...about('Leave a room, remove a member, or decline or withdraw an invitation.'),
    })
    .input(z.strictObject({ id, ifVersion }))
    .mutation(({ ctx, input }) => removeMembership(ctx, input)),
})

type LockedMember = RoomTransaction & { row: { id: number; user: number | null } }

/** Changes a membership or invitation under the lock of its room. */
async function changeMember<T>(
  ctx: Context,
  verb: 'update' | 'delete',
  { id, ifVersion }: Removal,
  work: (member: LockedMember) => Promise<T>,
): Promise<T> {
  const room = await findRoom(ctx, id)
  const change = async (em: EntityManager, changes: ChangeRecorder) => {
    await lockRoomById(em, room)
    await lockRow(ctx, em, roomMembers, { id, ifVersion, verb })
    const { id: key, user } = await em.findOneOrFail(RoomMember, roomMembers.ids.toKey(id))
    return work({ em, changes, room, row: { id: key, user: user?.id ?? null } })
  }
  return withChangeLog(ctx, change, `room:${room}`)
}

async function findRoom({ services }: Context, id: string): Promise<number> {
  const [found] = await services.sql(findRoomOfMember, [roomMembers.ids.toKey(id)])
  if (!found) throw createNotFoundProblem(roomMembers, id)
  return found.room
}

async function changeRole(ctx: Context, { role, ...version }: RoleChange): Promise<MemberRecord> {
  await changeMember(ctx, 'update', version, async ({ row, ...transaction }) => {
    if (role === undefined || row.user === null) return
    const { em, changes, room } = transaction
    await em.nativeUpdate(RoomMember, { id: row.id }, { role, updatedAt: new Date() })
    if (role !== 'admin') await withdrawInvitationsBy(transaction, row.user)
    await deleteIfEmpty(transaction)
    changes.add([`room:${room}`], 'updated', roomMembers.type, row.id)
    changes.add([`user:${row.user}`], 'updated', 'rooms', room)
    // Administrators of a room see its invitations.
    await recordInvitationChanges(transaction, row.user)
  })
  return getRow(ctx, roomMembers, version.id)
}

async function removeMembership(ctx: Context, version: Removal): Promise<{ id: string }> {
  const files = await changeMember(ctx, 'delete', version, async ({ row, ...transaction }) => {
    if (version.id === invitationId(row.id)) return withdrawInvitation(transaction, row)
    if (row.user === null) throw new Problem('not_permitted')
    const kind = row.user === toViewer(ctx).viewer ? 'left' : 'removed'
    await removeMember(transaction, { id: row.id, user: row.user }, kind)
    return deleteIfEmpty(transaction)
  })
  await deletePictures(ctx.services, files)
  return { id: version.id }
}

async function withdrawInvitation(
  { em, changes, room }: RoomTransaction,
  { id, user }: LockedMember['row'],
): Promise<string[]> {
  await em.nativeDelete(RoomMember, { id })
  recordWithdrawnInvitations(changes, room, [{ id, userId: user }])
  return []
}
