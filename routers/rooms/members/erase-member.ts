import { lockPerson } from '../../../entities/identity/user.sql.ts'
import {
  dropAllInvitations,
  findMemberships,
  lockRoomsOf,
  promoteSuccessor,
  type Withdrawn,
} from '../../../entities/rooms/room-member.sql.ts'
import { RoomMember } from '../../../entities/rooms/room-member.ts'
import type { Erasing } from '../../core/hooks.ts'
import { askForNewKey } from '../require-rekey.ts'
import { sizeOf } from '../room-access.ts'
import { type InRoom, noteRemoved, settleRoom } from './end-membership.ts'
import { roomMembers } from './members.ts'
import { noteInvitations, noteWithdrawn } from './note-invitations.ts'

/**
 * Ends all memberships of somebody who is erased. They can name nobody: a room that would be without an administrator is
 * given to the editor or, where there is none, to the viewer who has been in it for longest.
 */
export async function letGoOfRooms({ userId, em, changes, report, files }: Erasing): Promise<void> {
  // In the order in which everybody locks: first the person, then the rooms.
  await em.execute(lockPerson, [userId])
  await em.execute(lockRoomsOf, [userId, userId])
  for (const { id, room } of await em.execute<{ id: number; room: number }[]>(findMemberships, [userId])) {
    const at: InRoom = { em, changes, room }
    // Keys and read marks are counted with all others of the person.
    await em.nativeUpdate(RoomMember, { id }, { state: 'removed', updatedAt: new Date() })
    noteRemoved(at, { id, user: userId })
    await askForNewKey(at, [room])
    await nameSuccessor(at)
    files.push(...(await settleRoom(at)))
  }
  const dropped = await em.execute<(Withdrawn & { room: number })[]>(dropAllInvitations, [userId, userId])
  for (const { room, ...invitation } of dropped) noteWithdrawn(changes, room, [invitation])
  report['room_members'] = { deleted: dropped.length, kept: 0 }
}

async function nameSuccessor({ em, changes, room }: InRoom): Promise<void> {
  const { admins, people } = await sizeOf(em, room)
  if (admins > 0 || people === 0) return
  const [successor] = await em.execute<{ id: number; user: number }[]>(promoteSuccessor, [room])
  if (!successor) return
  changes.add([`room:${room}`], 'updated', roomMembers.type, successor.id)
  changes.add([`user:${successor.user}`], 'updated', 'rooms', room)
  await noteInvitations({ em, changes, room }, successor.user)
}
