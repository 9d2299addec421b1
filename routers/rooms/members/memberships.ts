import { lockPerson } from '../../../entities/identity/user.sql.ts'
import { deleteRoom } from '../../../entities/rooms/room.sql.ts'
import { deleteKeychainsOfRoom } from '../../../entities/rooms/room-key.sql.ts'
import {
  dropAllInvitations,
  endMembership,
  findMemberships,
  listAffectedPeople,
  lockRoomsOfUser,
  promoteSuccessor,
  withdrawInvitations,
} from '../../../entities/rooms/room-member.sql.ts'
import { RoomMember } from '../../../entities/rooms/room-member.ts'
import { type MemberEventKind, recordMemberEvent } from '../../../entities/rooms/room-member-event.ts'
import type { Erasure } from '../../core/hooks.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { deleteFilesOfRoom } from '../attachments/message-attachments.ts'
import { requestRekeyAfterRemoval } from '../key-epochs.ts'
import { measureSize } from '../room-access.ts'
import { type RoomTransaction, recordInvitationChanges, recordWithdrawnInvitations } from './member-events.ts'
import { roomMembers } from './members.ts'

export interface MemberOfRoom {
  id: number
  user: number
}

/** Ends a membership: messages stay with their author's name; keys and marks are deleted. */
export async function removeMember(
  transaction: RoomTransaction,
  member: MemberOfRoom,
  kind: MemberEventKind,
): Promise<void> {
  const withdrawn = await runStatement(transaction.em, endMembership, [member.id])
  await recordRemoval(transaction, member, kind)
  await requestRekeyAfterRemoval(transaction, transaction.room)
  recordWithdrawnInvitations(transaction.changes, transaction.room, withdrawn)
}

async function recordRemoval(
  { em, changes, room }: RoomTransaction,
  { id, user }: MemberOfRoom,
  kind: MemberEventKind,
): Promise<void> {
  await runStatement(em, recordMemberEvent, [room, id, kind])
  changes.add([`room:${room}`], 'deleted', roomMembers.type, id)
  changes.add([`user:${user}`], 'deleted', 'rooms', room)
}

/** Withdraws the invitations by somebody who may no longer invite. */
export async function withdrawInvitationsBy({ em, changes, room }: RoomTransaction, inviter: number): Promise<void> {
  recordWithdrawnInvitations(changes, room, await runStatement(em, withdrawInvitations, [room, inviter]))
}

/** Deletes a room without people and returns its picture; throws if it has people but no administrator. */
export async function deleteIfEmpty(transaction: RoomTransaction): Promise<string[]> {
  const { people, admins } = await measureSize(transaction.em, transaction.room)
  if (people === 0) return deleteEmptyRoom(transaction)
  if (admins === 0)
    throw new Problem('conflict', { detail: 'The room needs an administrator: name another one first.' })
  return []
}

async function deleteEmptyRoom(transaction: RoomTransaction): Promise<string[]> {
  const { em, changes, room } = transaction
  await prepareRoomDeletion(transaction)
  changes.add([`room:${room}`], 'deleted', 'rooms', room)
  const [found] = await runStatement(em, deleteRoom, [room])
  return found?.avatar ? [found.avatar] : []
}

/** Records for all members and invited people that a room is deleted, and deletes its files and keys first. */
export async function prepareRoomDeletion(transaction: RoomTransaction): Promise<void> {
  const { em, changes, room } = transaction
  await deleteFilesOfRoom(transaction, room)
  await runStatement(em, deleteKeychainsOfRoom, [room])
  const concerned = await runStatement(em, listAffectedPeople, [room])
  for (const { id, invitation } of concerned) {
    if (invitation === null) changes.add([`user:${id}`], 'deleted', 'rooms', room)
    else changes.add([`user:${id}`], 'deleted', roomMembers.type, `invitation-${invitation}`)
  }
}

/**
 * Ends all memberships of an erased person. Since they can name no successor, the editor or, without one, the viewer
 * with the longest membership becomes administrator where none is left.
 */
export async function endMembershipsOnErase({ userId, em, changes, report, files }: Erasure): Promise<void> {
  // Locks in the global order: first the person, then the rooms.
  await runStatement(em, lockPerson, [userId])
  await runStatement(em, lockRoomsOfUser, [userId])
  for (const { id, room } of await runStatement(em, findMemberships, [userId])) {
    const transaction: RoomTransaction = { em, changes, room }
    // Keys and read marks are counted with the other data of the person.
    await em.nativeUpdate(RoomMember, { id }, { state: 'removed', updatedAt: new Date() })
    await recordRemoval(transaction, { id, user: userId }, 'left')
    await requestRekeyAfterRemoval(transaction, room)
    await promoteSuccessorIfNeeded(transaction)
    files.push(...(await deleteIfEmpty(transaction)))
  }
  const deleted = await runStatement(em, dropAllInvitations, [userId])
  for (const { room, ...invitation } of deleted) recordWithdrawnInvitations(changes, room, [invitation])
  report['room_members'] = { deleted: deleted.length, kept: 0 }
}

async function promoteSuccessorIfNeeded({ em, changes, room }: RoomTransaction): Promise<void> {
  const { admins, people } = await measureSize(em, room)
  if (admins > 0 || people === 0) return
  const [successor] = await runStatement(em, promoteSuccessor, [room])
  if (!successor) return
  changes.add([`room:${room}`], 'updated', roomMembers.type, successor.id)
  changes.add([`user:${successor.user}`], 'updated', 'rooms', room)
  await recordInvitationChanges({ em, changes, room }, successor.user)
}
