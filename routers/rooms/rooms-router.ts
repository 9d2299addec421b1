import { randomInt } from 'node:crypto'
import type { EntityManager } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { AI_USER_ID } from '../../entities/identity/user.ts'
import { findRoomBySlug } from '../../entities/rooms/room.sql.ts'
import { Room } from '../../entities/rooms/room.ts'
import { findMembership, setRoomMarks } from '../../entities/rooms/room-member.sql.ts'
import { RoomMember } from '../../entities/rooms/room-member.ts'
import {
  findLastMessages,
  markUnread as moveReadMarkBack,
  markRead as updateReadMark,
} from '../../entities/rooms/room-message.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, router, userWith, withBodySize } from '../core/trpc.ts'
import { deletePictures, pictureSize, readPicture, toPictureKey } from '../identity/pictures/picture-files.ts'
import { replacePicture } from '../identity/pictures/pictures.ts'
import { exposeAs } from '../resource/exposure.ts'
import { resourceId } from '../resource/ids.ts'
import type { RecordOf, UpdateInput } from '../resource/record.ts'
import { rowAction } from '../verbs/action.ts'
import { changesInput, followChanges, followInput, readChangesSince } from '../verbs/change-feed.ts'
import { dropUnchanged } from '../verbs/drop-unchanged.ts'
import { assertPermitted, createUnknownIssue } from '../verbs/lock-row.ts'
import { defineReads, getNamedRow, getRow } from '../verbs/read.ts'
import { toViewer } from '../verbs/viewer.ts'
import { createRow, deleteRow, updateRow, type WrittenRow } from '../verbs/write.ts'
import { buildCreateInput, buildUpdateInput, ifVersion, type RowChange } from '../verbs/write-inputs.ts'
import { assertKeysOfTextsInUse } from './key-epochs.ts'
import { recordInvitationChanges } from './members/member-events.ts'
import { roomMembers } from './members/members.ts'
import { prepareRoomDeletion } from './members/memberships.ts'
import { assertMayEnterOneMore, createUnknownRoomProblem } from './room-access.ts'
import { rooms } from './rooms.ts'

type RoomChange = UpdateInput<typeof rooms>

const arrangementInput = z.strictObject({
  id: resourceId,
  isMuted: z.boolean().optional().describe('True if the caller gets no notifications of the room.'),
  isArchived: z.boolean().optional().describe('True if the room is archived for the caller.'),
})

const markUnreadInput = z.strictObject({
  id: resourceId,
  from: resourceId
    .optional()
    .describe('The id of the first message that is unread. Without it, it is the last message of somebody else.'),
})

/** The largest number of rooms whose last message is listed. */
const MAX_LISTED = 500

const lastMessage = z.object({
  room: z.string(),
  id: z.string(),
  content: z
    .string()
    .nullable()
    .describe('The ciphertext. It is null if there is none, or if it is too long for a list.'),
  keyEpoch: z.int(),
  model: z.string().nullable().describe('The model that wrote it. Answers of models are encrypted with the AI key.'),
  author: z.string().nullable(),
  createdAt: z.iso.datetime(),
})

export const roomsRouter = router({
  ...defineReads(rooms),

  find: userWith('read')
    .meta(about('Read a room by its slug.'))
    .input(z.strictObject({ slug: z.string().max(200) }))
    .query(async ({ ctx, input }): Promise<RecordOf<typeof rooms>> => {
      const [found] = await ctx.services.sql(findRoomBySlug, [input.slug])
      // Callers who may not see a room do not learn that its slug exists.
      return getNamedRow(ctx, rooms, found, { unknown: 'There is no such room.' })
    }),

  changesSince: rowAction(rooms, 'changes', userWith('read'))
    .meta(about('Read the changes in a room since a position: the room, its members, messages and read marks.'))
    .input(changesInput.extend({ id: resourceId }))
    .query(async ({ ctx, input: { id, page } }) => {
      const changes = await readChangesSince(ctx, `room:${Number(id)}`, page?.after).catch((error: unknown) => ({
        error,
      }))
      // The membership is checked last: a current member was one when the changes were read.
      await assertMember(ctx, Number(id))
      if ('error' in changes) throw changes.error
      return changes
    }),

  changes: userWith('read')
    .meta(about('Follow the changes in a room: the room, its members, messages and read marks.'))
    .input(followInput.extend({ id: resourceId }))
    .subscription(({ ctx, input: { id, lastEventId: after } }) => followRoom(ctx, Number(id), after)),

  markRead: rowAction(rooms, 'mark-read', userWith('write'))
    .meta(about('Mark the messages of a room as read, up to one of them.'))
    .input(z.strictObject({ id: resourceId, upTo: resourceId.describe('The id of the last message that was read.') }))
    .mutation(({ ctx, input }) => markRead(ctx, Number(input.id), Number(input.upTo))),

  markUnread: userWith('write')
    .meta(about('Mark a message of a room as unread for the caller, and all later ones.'))
    .input(markUnreadInput)
    .mutation(({ ctx, input }) => markUnread(ctx, input)),

  arrange: rowAction(rooms, 'arrange', userWith('write'))
    .meta(about('Mute or archive a room for the caller alone. Omitted members stay unchanged.'))
    .input(arrangementInput)
    .mutation(({ ctx, input }) => arrangeRoomOfCaller(ctx, input)),

  lastMessages: userWith('read')
    .meta(about('List the last message of each room of the caller, encrypted, the newest first.', z.array(lastMessage)))
    .query(({ ctx }) => ctx.services.sql(findLastMessages, [ctx.caller.person.id, MAX_LISTED])),

  /** Creates the room with its first members: the caller as administrator, and the AI user. */
  create: userWith('write')
    .meta({ ...exposeAs(rooms, 'create'), ...withBodySize('long text') })
    .input(buildCreateInput(rooms))
    .mutation(({ ctx, input }): Promise<RecordOf<typeof rooms>> => {
      const { id } = ctx.caller.person
      return createRow(ctx, rooms, input, {
        completeRow: ({ name }) => ({ slug: createSlug(String(name)) }),
        beforeWrite: (em) => assertMayEnterOneMore(ctx, em, id),
        afterFlush: (written) => addFirstMembers(written, id),
      })
    }),

  update: userWith('write')
    .meta({ ...exposeAs(rooms, 'update'), ...withBodySize('picture') })
    .use(dropUnchanged(rooms))
    .input(buildUpdateInput(rooms))
    .mutation(({ ctx, input }): Promise<RecordOf<typeof rooms>> => updateRoom(ctx, input as RoomChange)),

  picture: userWith('read')
    .meta(about('Read the picture of a room, as WebP.'))
    .input(z.strictObject({ id: resourceId, size: pictureSize }))
    .query(async ({ ctx, input }) => {
      const { avatar } = await getRow(ctx, rooms, input.id)
      if (!avatar) throw new Problem('not_found', { detail: 'This room has no picture.' })
      return readPicture(ctx.services, toPictureKey(avatar), input.size)
    }),

  delete: userWith('write')
    .meta(exposeAs(rooms, 'delete'))
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

async function updateRoom(ctx: Context, { avatar: image, ...change }: RoomChange) {
  if (image === undefined) return writeRoom(ctx, change)
  const { avatar } = await getRow(ctx, rooms, change.id)
  const before = avatar && toPictureKey(avatar)
  // The permission is checked before the picture is decoded.
  await assertPermitted(ctx, ctx.services.sql, rooms, { id: change.id, verb: 'update' })
  return replacePicture(ctx, { before, image, write: (avatar) => writeRoom(ctx, { ...change, avatar }) })
}

const writeRoom = (ctx: Context, change: RowChange) =>
  updateRow(ctx, rooms, change, {
    stream: toStream(change),
    async afterFlush(written) {
      const { em, row, input } = written
      await assertKeysOfTextsInUse(ctx, em, row.id, [input['roomDescription'], input['systemPrompt']])
      await recordNewName(written)
    },
  })

const toStream = ({ id }: { id: string }) => `room:${Number(id)}` as const

/** Records a new name, which invitations show, too. */
async function recordNewName({ em, changes, row, input }: WrittenRow): Promise<void> {
  if (input['name'] !== undefined) await recordInvitationChanges({ em, changes, room: row.id })
}

async function deleteRoom(ctx: Context, version: Pick<RowChange, 'id' | 'ifVersion'>): Promise<{ id: string }> {
  const files: string[] = []
  const deleted = await deleteRow(ctx, rooms, version, {
    stream: toStream(version),
    async beforeDelete({ em, changes, row }) {
      await prepareRoomDeletion({ em, changes, room: row.id })
      const { avatar } = await em.findOneOrFail(Room, row.id)
      if (avatar) files.push(avatar)
    },
  })
  await deletePictures(ctx.services, files)
  return deleted
}

/** Marks the messages of a room as read up to one of them. The mark never moves back by it. */
async function markRead(ctx: Context, room: number, upTo: number): Promise<{ meta: { upTo: string } }> {
  const { viewer } = toViewer(ctx)
  await assertMember(ctx, room)
  const mark = async (em: EntityManager, changes: ChangeRecorder) => {
    const [marked] = await runStatement(em, updateReadMark, [upTo, room, viewer])
    if (!marked) throw new Problem('not_found', { issues: [createUnknownIssue('room-messages', ['upTo'])] })
    if (!marked.isNew) return
    changes.add([`room:${room}`], 'updated', 'room-members', marked.member)
    changes.add([`user:${viewer}`], 'updated', 'rooms', room)
  }
  await withChangeLog(ctx, mark, `room:${room}`)
  return { meta: { upTo: `${upTo}` } }
}

/** Marks the messages of a room as unread from one of them on. */
async function markUnread(ctx: Context, { id, from }: z.output<typeof markUnreadInput>) {
  const { viewer } = toViewer(ctx)
  const room = Number(id)
  await withChangeLog(
    ctx,
    async (em, changes) => {
      const [marked] = await runStatement(em, moveReadMarkBack, [
        from === undefined ? null : Number(from),
        room,
        viewer,
      ])
      if (!marked) throw createUnknownRoomProblem(room)
      if (from !== undefined && marked.from === null)
        throw new Problem('not_found', { issues: [createUnknownIssue('room-messages', ['from'])] })
      if (marked.upTo === null) return
      changes.add([`room:${room}`], 'updated', 'room-members', marked.member)
      changes.add([`user:${viewer}`], 'updated', 'rooms', room)
    },
    `room:${room}`,
  )
  return { meta: {} }
}

/** Records the change for the other clients of the caller only. */
async function arrangeRoomOfCaller(ctx: Context, { id, isMuted, isArchived }: z.output<typeof arrangementInput>) {
  const { viewer } = toViewer(ctx)
  await withChangeLog(ctx, async (em, changes) => {
    const [updated] = await runStatement(em, setRoomMarks, [Number(id), viewer, isMuted ?? null, isArchived ?? null])
    if (!updated) throw createUnknownRoomProblem(Number(id))
    changes.add([`user:${viewer}`], 'updated', 'rooms', Number(id))
  })
  return { meta: {} }
}

/** Throws «not found» if the caller is no member. */
async function assertMember(ctx: Context, room: number): Promise<void> {
  const [member] = await ctx.services.sql(findMembership, [room, toViewer(ctx).viewer])
  if (!member) throw createUnknownRoomProblem(room)
}

type FollowContext = Context & { caller: Extract<Caller, { type: 'user' }> }

/** Streams the changes of a room to a member until the membership or the room ends. */
function followRoom(ctx: FollowContext, room: number, after: string | undefined) {
  const admit = async () => {
    const [member] = await ctx.services.sql(findMembership, [room, ctx.caller.person.id])
    if (!member) throw createUnknownRoomProblem(room)
    const last = { [`${roomMembers.type}.deleted`]: `${member.id}`, 'rooms.deleted': `${room}` }
    return ({ kind, subject }: { kind: string; subject: string }) => last[kind] === subject
  }
  return followChanges(ctx, { stream: `room:${room}`, after, admit })
}

const SLUG_ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const RANDOM_CHARACTERS = 10
/** The longest slug of a name; one character may become several letters. */
const MAX_WORDS = 120

/** Creates a slug such as `chess-go-` with random characters; it stays when the room is renamed. */
function createSlug(name: string): string {
  const words = name
    .normalize('NFKD')
    .toLowerCase()
    .match(/[a-z0-9]+/g)
  const random = Array.from({ length: RANDOM_CHARACTERS }, () => SLUG_ALPHABET[randomInt(SLUG_ALPHABET.length)]).join(
    '',
  )
  return `${(words ?? []).join('-').slice(0, MAX_WORDS)}-${random}`
}
