import { dropInvitationsForKey, lockRoomsOf, requireRekey } from '../../entities/rooms/room-key.sql.ts'
import type { Withdrawn } from '../../entities/rooms/room-member.sql.ts'
import type { ChangedPerson } from '../core/hooks.ts'
import { arrayOf } from '../verbs/run-in.ts'
import { noteWithdrawn } from './members/note-invitations.ts'

/** Makes rooms ask for a new key: somebody has one who should not, or lacks it. Their locks are held. */
export async function askForNewKey(
  { em, changes }: Omit<ChangedPerson, 'userId'>,
  rooms: readonly number[],
): Promise<void> {
  const asking = rooms.length > 0 ? await em.execute<{ id: number }[]>(requireRekey, [arrayOf(rooms)]) : []
  for (const { id } of asking) changes.add([`room:${id}`], 'updated', 'rooms', id)
}

/** The same for all rooms of a person whose keys are others from now on; what was wrapped for the old ones goes, invitations too. */
export async function askForNewKeysOf({ em, changes, userId }: ChangedPerson): Promise<void> {
  const rooms = await em.execute<{ id: number; isMember: boolean }[]>(lockRoomsOf, [userId])
  await em.execute('delete from room_keys where user_id = ?', [userId])
  await askForNewKey(
    { em, changes },
    rooms.filter(({ isMember }) => isMember).map(({ id }) => id),
  )
  const dropped = await em.execute<(Withdrawn & { room: number })[]>(dropInvitationsForKey, [userId])
  for (const { room, ...invitation } of dropped) noteWithdrawn(changes, room, [invitation])
}
