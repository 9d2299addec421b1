import type { EntityManager } from '@mikro-orm/postgresql'
import { lockPerson } from '../../entities/identity/user.sql.ts'
import { countRooms, type RoomSize } from '../../entities/rooms/room-member.sql.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

/** Locks the person, so that two rooms are not entered past the limit at once; throws where they are in too many already. */
export async function assertMayEnterOneMore({ services }: Context, em: EntityManager, person: number): Promise<void> {
  const { perPerson } = services.settings.rooms
  await em.execute(lockPerson, [person])
  const [found] = await em.execute<[{ rooms: number }]>(countRooms, [person])
  if (found.rooms >= perPerson) throw full(`A person is in at most ${perPerson} rooms.`)
}

export function assertRoomForMember({ services }: Context, { members }: RoomSize): void {
  const { members: limit } = services.settings.rooms
  if (members >= limit) throw full(`A room has at most ${limit} members.`)
}

export function assertRoomForInvitation({ services }: Context, { invitations }: RoomSize): void {
  const { invitations: limit } = services.settings.rooms
  if (invitations >= limit) throw full(`At most ${limit} invitations to a room wait for an answer.`)
}

const full = (detail: string) => new Problem('invalid', { detail })
