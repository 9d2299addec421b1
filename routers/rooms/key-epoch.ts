import type { EntityManager } from '@mikro-orm/postgresql'
import { findEpochOfRoom, type RoomEpoch } from '../../entities/rooms/room-key.sql.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

/** Refuses what is encrypted with a key that the room will get, or, where new keys are enforced, with one it has replaced. */
export function assertKeyInUse({ services }: Context, given: number, { keyEpoch, isKeySettled }: RoomEpoch): void {
  if (given > keyEpoch) {
    const message = `must be at most ${keyEpoch}, the key that the room has`
    throw new Problem('invalid', { issues: [{ path: ['keyEpoch'], message }] })
  }
  if (given < keyEpoch && isKeySettled && services.settings.enforcesNewKeys)
    throw new Problem('key_epoch_outdated', { meta: { keyEpoch: String(keyEpoch) } })
}

/** The same for a message that is edited. */
export async function assertKeyOfEditInUse(ctx: Context, em: EntityManager, message: number): Promise<void> {
  const [found] = await em.execute<(RoomEpoch & { given: number })[]>(findEpochOfRoom, [message])
  if (found) assertKeyInUse(ctx, found.given, found)
}
