import type { EntityManager } from '@mikro-orm/postgresql'
import {
  deleteKeyProofsOfPerson,
  deleteKeysOfPerson,
  dropInvitationsForKey,
  findEpochOfRoom,
  findRoomEpoch,
  lockRoomsToRekey,
  type RoomEpoch,
  requireRekey,
  requireRekeyAfterRemoval,
} from '../../entities/rooms/room-key.sql.ts'
import type { ChangeTransaction } from '../core/change-recorder.ts'
import type { Context } from '../core/context.ts'
import type { ChangedPerson } from '../core/hooks.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { recordWithdrawnInvitations } from './members/member-events.ts'

/**
 * Throws if the content is encrypted with a future key. If new keys are enforced, also throws for a key that a former
 * member has, at once, and for any other replaced key once all members have had a minute to get the next one.
 */
export function assertKeyInUse({ services }: Context, usedEpoch: number, room: RoomEpoch): void {
  const { keyEpoch, minKeyEpoch, isKeySettled } = room
  if (usedEpoch > keyEpoch) {
    const message = `must be at most ${keyEpoch}, the key that the room has`
    throw new Problem('invalid', { issues: [{ path: ['keyEpoch'], message }] })
  }
  if (!services.settings.enforcesNewKeys) return
  if (keyEpoch < minKeyEpoch) throw new Problem('room_key_needed', { meta: { keyEpoch: String(minKeyEpoch) } })
  if (usedEpoch < minKeyEpoch || (usedEpoch < keyEpoch && isKeySettled))
    throw new Problem('key_epoch_outdated', { meta: { keyEpoch: String(keyEpoch) } })
}

/** Checks the key of an edited message in the same way. */
export async function assertKeyOfEditedMessageInUse(ctx: Context, em: EntityManager, message: number): Promise<void> {
  const [found] = await runStatement(em, findEpochOfRoom, [message])
  if (found) assertKeyInUse(ctx, found.given, found)
}

/** Checks the keys of the description and system prompt of a room, which its written row locks, in the same way. */
export async function assertKeysOfTextsInUse(ctx: Context, em: EntityManager, room: number, texts: readonly unknown[]) {
  const sealed = texts.filter((text) => typeof text === 'string')
  if (sealed.length === 0) return
  const [found] = await runStatement(em, findRoomEpoch, [room])
  if (found) for (const text of sealed) assertKeyInUse(ctx, readTextEpoch(text), found)
}

/** Reads the number of the key that a sealed text names; other front ends name none, as they only have the first. */
function readTextEpoch(text: string): number {
  try {
    const { keyEpoch } = JSON.parse(text) as { keyEpoch?: unknown }
    return typeof keyEpoch === 'number' && Number.isInteger(keyEpoch) ? keyEpoch : 0
  } catch {
    return 0
  }
}

/** Marks a locked room as needing a new key, because a former member has the current one. */
export async function requestRekeyAfterRemoval({ em, changes }: ChangeTransaction, room: number): Promise<void> {
  const [flagged] = await runStatement(em, requireRekeyAfterRemoval, [room])
  if (flagged) changes.add([`room:${room}`], 'updated', 'rooms', room)
}

/** Marks locked rooms as needing a new key, because a member lacks the current one. */
export async function requestRekey({ em, changes }: ChangeTransaction, rooms: readonly number[]): Promise<void> {
  const flagged = rooms.length > 0 ? await runStatement(em, requireRekey, [rooms]) : []
  for (const { id } of flagged) changes.add([`room:${id}`], 'updated', 'rooms', id)
}

/** Marks all rooms of a person with new keys. Deletes what was wrapped with the old ones, including invitations. */
export async function requestRekeyForPerson({ em, changes, userId }: ChangedPerson): Promise<void> {
  const rooms = await runStatement(em, lockRoomsToRekey, [userId])
  await runStatement(em, deleteKeysOfPerson, [userId])
  await runStatement(em, deleteKeyProofsOfPerson, [userId])
  await requestRekey(
    { em, changes },
    rooms.filter(({ isMember }) => isMember).map(({ id }) => id),
  )
  const dropped = await runStatement(em, dropInvitationsForKey, [userId])
  for (const { room, ...invitation } of dropped) recordWithdrawnInvitations(changes, room, [invitation])
}
