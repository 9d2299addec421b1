import { findShown, type ShownRow } from '../../../entities/rooms/room-member.sql.ts'
import type { ChangedPerson } from '../../core/hooks.ts'
import { runNamed } from '../../core/run-named.ts'
import { invitationId, roomMembers } from './members.ts'
import { concernedBy } from './note-invitations.ts'

/** Notes that somebody looks different in all their rooms, and in the invitations of them and by them. */
export async function noteProfile({ em, changes, userId }: ChangedPerson): Promise<void> {
  for (const shown of await runNamed(em, findShown, [userId])) noteShown(changes, shown)
}

function noteShown(changes: ChangedPerson['changes'], { id, room, invited, isMember }: ShownRow): void {
  if (isMember) changes.add([`room:${room}`], 'updated', roomMembers.type, id)
  else changes.add(concernedBy(room, invited), 'updated', roomMembers.type, invitationId(id))
}
