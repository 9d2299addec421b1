import { z } from 'zod'
import { AI_USER_ID } from '../../entities/identity/user.ts'
import { Room, visibleRooms } from '../../entities/rooms/room.ts'
import { memberRoles, RoomMember, unreadCount, viewerRole } from '../../entities/rooms/room-member.ts'
import { takes } from '../core/body-size.ts'
import { router, userWith } from '../core/trpc.ts'
import { attribute, resource, sortedTimestamps } from '../resource/declare.ts'
import { exposes } from '../resource/exposure.ts'
import type { RecordOf } from '../resource/record.ts'
import { reads } from '../verbs/read.ts'
import { createRow, type WrittenRow } from '../verbs/write.ts'
import { createInput } from '../verbs/write-inputs.ts'
import { slugOf } from './slug.ts'

const MAX_CIPHERTEXT = 128 * 1024
const ciphertext = z.string().max(MAX_CIPHERTEXT).nullable()

export const rooms = resource({
  type: 'rooms',
  about: 'Rooms of which the caller is a member.',
  entity: Room,
  scope: visibleRooms,
  streams: { room: 'id' },
  attributes: {
    name: attribute(z.string().trim().min(1).max(120).describe('Not encrypted.'), { write: true, sort: true }),
    slug: attribute(z.string().describe('Unique and never changed: the name of its keys and of its channel.')),
    avatar: attribute(z.string().nullable().describe('The identifier of the picture.')),
    roomDescription: attribute(ciphertext.describe('Ciphertext: only the members can read it.'), {
      write: true,
      default: null,
    }),
    systemPrompt: attribute(ciphertext.describe('Ciphertext of what a model is told about the room.'), {
      write: true,
      default: null,
    }),
    keyEpoch: attribute(z.int().describe('The number of the key in use; the first key has 0.')),
    role: attribute(z.enum(memberRoles).describe('What the caller may do. Absent for who is no member.'), {
      sql: viewerRole,
      sparse: true,
    }),
    unreadCount: attribute(
      z.int().describe('How many messages of others the caller has not read, at most 1000. Absent like the role.'),
      { sql: unreadCount, sparse: true },
    ),
    ...sortedTimestamps,
  },
  page: { size: 50, max: 200 },
})

export const roomsRouter = router({
  ...reads(rooms),

  /** The room with its first members: the caller, who administers it, and the AI user. */
  create: userWith('write')
    .meta({ ...exposes(rooms, 'create'), ...takes('long text') })
    .input(createInput(rooms))
    .mutation(({ ctx, input }): Promise<RecordOf<typeof rooms>> => {
      const { id } = ctx.caller.person
      return createRow(ctx, rooms, input, {
        complete: ({ name }) => ({ slug: slugOf(String(name)) }),
        afterFlush: (written) => addFirstMembers(written, id),
      })
    }),
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
