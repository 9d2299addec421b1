import type { Withdrawn } from '../../entities/rooms/room-member.sql.ts'
import type { ChangeRecorder, Stream } from '../core/change-recorder.ts'
import { invitationId, roomMembers } from './members.ts'

/** Notes that invitations are gone, for the room and for who was invited. */
export function noteWithdrawn(changes: ChangeRecorder, room: number, invitations: readonly Withdrawn[]): void {
  for (const { id, userId } of invitations)
    changes.add(concernedBy(room, userId), 'deleted', roomMembers.type, invitationId(id))
}

/** The streams of a room and, where there is one, of a person. */
export const concernedBy = (room: number, person: number | null): Stream[] =>
  person === null ? [`room:${room}`] : [`room:${room}`, `user:${person}`]
