import type { EntityManager } from '@mikro-orm/postgresql'
import { deleteKeychainsOfRoom } from '../../../entities/rooms/room-key.sql.ts'
import {
  endMembership,
  listConcerned,
  type Withdrawn,
  withdrawInvitations,
} from '../../../entities/rooms/room-member.sql.ts'
import type { ChangeRecorder } from '../../core/change-recorder.ts'
import { Problem } from '../../core/problems.ts'
import { dropFilesOfRoom } from '../attachments/remove.ts'
import { askForNewKey } from '../require-rekey.ts'
import { sizeOf } from '../room-access.ts'
import { roomMembers } from './members.ts'
import { noteWithdrawn } from './note-invitations.ts'

/** A transaction that holds the lock of a room. */
export interface InRoom {
  em: EntityManager
  changes: ChangeRecorder
  room: number
}

export interface MemberOfRoom {
  id: number
  user: number
}

/** Ends a membership: what the person wrote stays with their name, and their keys and marks go. */
export async function removeMember(at: InRoom, member: MemberOfRoom): Promise<void> {
  const withdrawn = await at.em.execute<Withdrawn[]>(endMembership, [member.id])
  noteRemoved(at, member)
  await askForNewKey(at, [at.room])
  noteWithdrawn(at.changes, at.room, withdrawn)
}

export function noteRemoved({ changes, room }: InRoom, { id, user }: MemberOfRoom): void {
  changes.add([`room:${room}`], 'deleted', roomMembers.type, id)
  changes.add([`user:${user}`], 'deleted', 'rooms', room)
}

/** Withdraws the invitations of somebody who may invite no longer. */
export async function withdrawInvitationsBy({ em, changes, room }: InRoom, inviter: number): Promise<void> {
  noteWithdrawn(changes, room, await em.execute<Withdrawn[]>(withdrawInvitations, [room, inviter]))
}

/** Deletes a room without people, whose picture is returned; throws where there are people and nobody administers them. */
export async function settleRoom(at: InRoom): Promise<string[]> {
  const { people, admins } = await sizeOf(at.em, at.room)
  if (people === 0) return deleteEmptyRoom(at)
  if (admins === 0)
    throw new Problem('conflict', { detail: 'The room needs an administrator: name another one first.' })
  return []
}

async function deleteEmptyRoom(at: InRoom): Promise<string[]> {
  const { em, changes, room } = at
  await noteRoomGone(at)
  changes.add([`room:${room}`], 'deleted', 'rooms', room)
  const [found] = await em.execute<{ avatar: string | null }[]>('delete from rooms where id = ? returning avatar', [
    room,
  ])
  return found?.avatar ? [found.avatar] : []
}

/** Tells everybody in whose list it stands, as a room or as an invitation, that a room is about to go; its files and keys go first. */
export async function noteRoomGone(at: InRoom): Promise<void> {
  const { em, changes, room } = at
  await dropFilesOfRoom(at, room)
  await em.execute(deleteKeychainsOfRoom, [room, room])
  const concerned = await em.execute<{ id: number; invitation: number | null }[]>(listConcerned, [room])
  for (const { id, invitation } of concerned) {
    if (invitation === null) changes.add([`user:${id}`], 'deleted', 'rooms', room)
    else changes.add([`user:${id}`], 'deleted', roomMembers.type, `invitation-${invitation}`)
  }
}
