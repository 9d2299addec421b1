import { lockRoomsOf, requireRekey } from '../../entities/rooms/room-key.sql.ts'
import type { ChangedPerson } from '../core/hooks.ts'
import { arrayOf } from '../verbs/run-in.ts'

/** Makes rooms ask for a new key: somebody has one who should not, or lacks it. Their locks are held. */
export async function askForNewKey(
  { em, changes }: Omit<ChangedPerson, 'userId'>,
  rooms: readonly number[],
): Promise<void> {
  const asking = rooms.length > 0 ? await em.execute<{ id: number }[]>(requireRekey, [arrayOf(rooms)]) : []
  for (const { id } of asking) changes.add([`room:${id}`], 'updated', 'rooms', id)
}

/** The same for all rooms of a person whose keys are others from now on; what was wrapped for the old ones goes. */
export async function askForNewKeysOf({ em, changes, userId }: ChangedPerson): Promise<void> {
  const rooms = await em.execute<{ id: number }[]>(lockRoomsOf, [userId])
  await em.execute('delete from room_keys where user_id = ?', [userId])
  await askForNewKey(
    { em, changes },
    rooms.map(({ id }) => id),
  )
}
