import { z } from 'zod'
import { AI_USER_ID } from '../../entities/identity/user.ts'
import { findRoomBySlug } from '../../entities/rooms/room.sql.ts'
import { Room } from '../../entities/rooms/room.ts'
import { RoomMember } from '../../entities/rooms/room-member.ts'
import { takes } from '../core/body-size.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { about, router, userWith } from '../core/trpc.ts'
import { deletePictures, keyOfPicture, pictureSize, readPicture } from '../identity/pictures/picture-files.ts'
import { replacePicture } from '../identity/pictures/pictures.ts'
import { exposes } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf, UpdateInput } from '../resource/record.ts'
import { rowAction } from '../verbs/action.ts'
import { changesInput, changesSince } from '../verbs/changes.ts'
import { followInput } from '../verbs/follow-changes.ts'
import { assertPermitted } from '../verbs/lock.ts'
import { getRow, reads } from '../verbs/read.ts'
import { withoutUnchanged } from '../verbs/unchanged.ts'
import { createRow, deleteRow, updateRow, type WrittenRow } from '../verbs/write.ts'
import { createInput, ifVersion, type RowChange, updateInput } from '../verbs/write-inputs.ts'
import { followRoom } from './follow-room.ts'
import { noteRoomGone } from './members/end-membership.ts'
import { noteInvitations } from './members/note-invitations.ts'
import { assertMember, markRead } from './read-marks.ts'
import { assertMayEnterOneMore } from './room-quotas.ts'
import { rooms } from './rooms.ts'
import { slugOf } from './slug.ts'

type RoomChange = UpdateInput<typeof rooms>

export const roomsRouter = router({
  ...reads(rooms),

  find: userWith('read')
    .meta(about('Read a room by its slug.'))
    .input(z.strictObject({ slug: z.string().max(200) }))
    .query(async ({ ctx, input }): Promise<RecordOf<typeof rooms>> => {
      const [found] = await ctx.services.sql(findRoomBySlug, [input.slug])
      if (!found) throw new Problem('not_found', { detail: 'There is no such room.' })
      return getRow(ctx, rooms, found.id)
    }),

  changesSince: rowAction(rooms, 'changes', userWith('read'))
    .meta(about('Read what has changed in a room since a position: the room, its members, messages and read marks.'))
    .input(changesInput.extend({ id: resourceId }))
    .query(async ({ ctx, input: { id, page } }) => {
      const changes = await changesSince(ctx, `room:${Number(id)}`, page?.after).catch((error: unknown) => ({ error }))
      // Asked last: whoever is a member now was one when the changes were read.
      await assertMember(ctx, Number(id))
      if ('error' in changes) throw changes.error
      return changes
    }),

  changes: userWith('read')
    .meta(about('Follow what changes in a room: the room, its members, messages and read marks.'))
    .input(followInput.extend({ id: resourceId }))
    .subscription(({ ctx, input: { id, lastEventId: after } }) => followRoom(ctx, Number(id), after)),

  markRead: rowAction(rooms, 'mark-read', userWith('write'))
    .meta(about('Mark the messages of a room as read, up to one of them.'))
    .input(z.strictObject({ id: resourceId, upTo: resourceId.describe('The id of the last message that was read.') }))
    .mutation(({ ctx, input }) => markRead(ctx, Number(input.id), Number(input.upTo))),

  /** The room with its first members: the caller, who administers it, and the AI user. */
  create: userWith('write')
    .meta({ ...exposes(rooms, 'create'), ...takes('long text') })
    .input(createInput(rooms))
    .mutation(({ ctx, input }): Promise<RecordOf<typeof rooms>> => {
      const { id } = ctx.caller.person
      return createRow(ctx, rooms, input, {
        complete: ({ name }) => ({ slug: slugOf(String(name)) }),
        beforehand: (em) => assertMayEnterOneMore(ctx, em, id),
        afterFlush: (written) => addFirstMembers(written, id),
      })
    }),

  update: userWith('write')
    .meta({ ...exposes(rooms, 'update'), ...takes('picture') })
    .use(withoutUnchanged(rooms))
    .input(updateInput(rooms))
    .mutation(({ ctx, input }): Promise<RecordOf<typeof rooms>> => updateRoom(ctx, input as RoomChange)),

  picture: userWith('read')
    .meta(about('Read the picture of a room, as WebP.'))
    .input(z.strictObject({ id: resourceId, size: pictureSize }))
    .query(async ({ ctx, input }) => {
      const { avatar } = await getRow(ctx, rooms, input.id)
      if (!avatar) throw new Problem('not_found', { detail: 'This room has no picture.' })
      return readPicture(ctx.services, keyOfPicture(avatar), input.size)
    }),

  delete: userWith('write')
    .meta(exposes(rooms, 'delete'))
    .input(z.strictObject({ id: resourceId, ifVersion }))
    .mutation(({ ctx, input }) => deleteRoom(ctx, input)),
})

async function addFirstMembers({ em, changes, row: { id: room } }: WrittenRow, creator: number): Promise<void> {
  const people = [
    em.create(RoomMember, { room, user: creator, role: 'admin' }),
    em.create(RoomMember, { room, user: AI_USER_ID, role: 'assistant' }),
  ]
  await em.flush()
  for (const { id } of people) changes.add([`room:${room}`], 'created', 'room-members', id)
  changes.add([`user:${creator}`], 'created', 'rooms', room)
}

async function updateRoom(ctx: Context, { avatar: image, ...given }: RoomChange) {
  if (image === undefined) return write(ctx, given)
  const { avatar } = await getRow(ctx, rooms, given.id)
  const before = avatar && keyOfPicture(avatar)
  // Nobody has a picture decoded that they may not set.
  await assertPermitted(ctx, ctx.em(), rooms, { id: given.id, verb: 'update' })
  return replacePicture(ctx, { before, image, write: (avatar) => write(ctx, { ...given, avatar }) })
}

const write = (ctx: Context, change: RowChange) => updateRow(ctx, rooms, change, { afterFlush: noteNewName })

/** Invitations show the name, too. */
async function noteNewName({ em, changes, row, given }: WrittenRow): Promise<void> {
  if (given['name'] !== undefined) await noteInvitations({ em, changes, room: row.id })
}

async function deleteRoom(ctx: Context, version: Pick<RowChange, 'id' | 'ifVersion'>): Promise<{ id: string }> {
  const files: string[] = []
  const deleted = await deleteRow(ctx, rooms, version, {
    async beforeDelete({ em, changes, row }) {
      await noteRoomGone({ em, changes, room: row.id })
      const { avatar } = await em.findOneOrFail(Room, row.id)
      if (avatar) files.push(avatar)
    },
  })
  await deletePictures(ctx.services, files)
  return deleted
}
