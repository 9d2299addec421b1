import type { EntityManager } from '@mikro-orm/postgresql'
import {
  deleteKeysOfPerson,
  dropInvitationsForKey,
  findEpochOfRoom,
  lockRoomsToRekey,
  type RoomEpoch,
  requireRekey,
} from '../../entities/rooms/room-key.sql.ts'
import type { Context } from '../core/context.ts'
import type { ChangedPerson } from '../core/hooks.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { recordWithdrawnInvitations } from './members/member-events.ts'

/** Refuses what is encrypted with a key that the room will get, or, where new keys are enforced, with one it has replaced. */
export function assertKeyInUse({ services }: Context, usedEpoch: number, { keyEpoch, isKeySettled }: RoomEpoch): void {
  if (usedEpoch > keyEpoch) {
    const message = `must be at most ${keyEpoch}, the key that the room has`
    throw new Problem('invalid', { issues: [{ path: ['keyEpoch'], message }] })
  }
  if (usedEpoch < keyEpoch && isKeySettled && services.settings.enforcesNewKeys)
    throw new Problem('key_epoch_outdated', { meta: { keyEpoch: String(keyEpoch) } })
}

/** The same for a message that is edited. */
export async function assertKeyOfEditedMessageInUse(ctx: Context, em: EntityManager, message: number): Promise<void> {
  const [found] = await runStatement(em, findEpochOfRoom, [message])
  if (found) assertKeyInUse(ctx, found.given, found)
}

/** Makes rooms ask for a new key: somebody has one who should not, or lacks it. Their locks are held. */
export async function requestRekey(
  { em, changes }: Omit<ChangedPerson, 'userId'>,
  rooms: readonly number[],
): Promise<void> {
  const flagged = rooms.length > 0 ? await runStatement(em, requireRekey, [rooms]) : []
  for (const { id } of flagged) changes.add([`room:${id}`], 'updated', 'rooms', id)
}

/** The same for all rooms of a person whose keys are others from now on; what was wrapped for the old ones goes, invitations too. */
export async function requestRekeyForPerson({ em, changes, userId }: ChangedPerson): Promise<void> {
  const rooms = await runStatement(em, lockRoomsToRekey, [userId])
  await runStatement(em, deleteKeysOfPerson, [userId])
  await requestRekey(
    { em, changes },
    rooms.filter(({ isMember }) => isMember).map(({ id }) => id),
  )
  const dropped = await runStatement(em, dropInvitationsForKey, [userId])
  for (const { room, ...invitation } of dropped) recordWithdrawnInvitations(changes, room, [invitation])
}
