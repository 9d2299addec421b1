import {
  type DisplayRow,
  findDisplayRows,
  listInvitations,
  type WithdrawnInvitation,
} from '../../../entities/rooms/room-member.sql.ts'
import type { ChangeRecorder, ChangeTransaction, Stream } from '../../core/change-recorder.ts'
import type { ChangedPerson } from '../../core/hooks.ts'
import { runStatement } from '../../core/run-statement.ts'
import { invitationId, roomMembers } from './members.ts'

/** Records that invitations are gone, for the room and for the invited people. */
export function recordWithdrawnInvitations(
  changes: ChangeRecorder,
  room: number,
  invitations: readonly WithdrawnInvitation[],
): void {
  for (const { id, userId } of invitations)
    changes.add(toStreams(room, userId), 'deleted', roomMembers.type, invitationId(id))
}

/** Returns the streams of a room and, if given, of a person. */
export const toStreams = (room: number, person: number | null): Stream[] =>
  person === null ? [`room:${room}`] : [`room:${room}`, `user:${person}`]

/** A transaction that changes a room. */
export interface RoomTransaction extends ChangeTransaction {
  room: number
}

/**
 * Records that all invitations to a room changed, for the room and the invited people; or, with `seenBy`, that this
 * person may or may no longer see them.
 */
export async function recordInvitationChanges({ em, changes, room }: RoomTransaction, seenBy?: number): Promise<void> {
  for (const { id, userId } of await runStatement(em, listInvitations, [room])) {
    const streams = seenBy === undefined ? toStreams(room, userId) : ([`user:${seenBy}`] as const)
    changes.add(streams, 'updated', roomMembers.type, invitationId(id))
  }
}

/** Records a changed profile in all rooms of a person, and in the invitations of and by them. */
export async function recordProfileChange({ em, changes, userId }: ChangedPerson): Promise<void> {
  for (const shown of await runStatement(em, findDisplayRows, [userId])) recordShownChange(changes, shown)
}

function recordShownChange(changes: ChangedPerson['changes'], { id, room, invited, isMember }: DisplayRow): void {
  if (isMember) changes.add([`room:${room}`], 'updated', roomMembers.type, id)
  else changes.add(toStreams(room, invited), 'updated', roomMembers.type, invitationId(id))
}
